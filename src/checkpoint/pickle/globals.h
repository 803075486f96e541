// The names that a pickle may use: everything else is refused, and nothing is ever executed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay::checkpoint {

enum class GlobalUse : uint8_t {
  kName,      ///< stands for itself: a dtype, a storage class; never called
  kCall,      ///< may be called or instantiated; what it makes is kept as what it was made of
  kDictLike,  ///< likewise, and takes items as a dict does
  kMember,    ///< getattr, by which enumerations are pickled: of an allowed name and a text, and of nothing else
};

struct GlobalName {
  std::string_view module;
  std::string_view name;
  GlobalUse use = GlobalUse::kCall;
};

/// A list of names that are allowed.
using GlobalList = std::span<const GlobalName>;

/// Those of files of torch.save: what torch.load(weights_only=True) takes, and plain data types of Python and numpy
/// that training leaves in checkpoints.
GlobalList StateGlobals();
/// Those of a .metadata of torch.distributed.checkpoint.
GlobalList MetadataGlobals();

/// The row of `list`; null where it is not in it. Modules of Python 2 are taken for their successors.
const GlobalName* FindGlobal(GlobalList list, std::string_view module, std::string_view name);

}  // namespace assay::checkpoint
