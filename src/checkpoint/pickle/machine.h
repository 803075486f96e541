// Reads pickles, protocols 0 to 5, without Python: a stack machine that makes nodes and calls nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/pickle/globals.h"

namespace assay::checkpoint {

/// What an opcode made. Nodes may share others and, in a hostile pickle, hold themselves: ToValue() of value_builder.h
/// refuses that.
struct PickleNode {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kBigInt,  ///< `text`: two's complement, little endian
    kFloat,
    kText,
    kBytes,
    kByteArray,
    kList,
    kTuple,
    kSet,
    kFrozenSet,
    kDict,  ///< `items`: key, value, key, value...
    kGlobal,
    kObject,      ///< `callee` with `arguments`; `items` as of a dict, where it is one
    kPersistent,  ///< the object that `arguments` is the persistent id of
  };
  Kind kind = Kind::kNone;
  bool truth = false;   ///< of kBool; of kObject: made by __new__
  int64_t integer = 0;  ///< of kInt; of kBigInt none
  double real = 0;
  std::string_view text{};  ///< within the pickle, or in Pickle::owned
  std::vector<PickleNode*> items{};
  const GlobalName* global = nullptr;  ///< of kGlobal
  PickleNode* callee = nullptr;
  PickleNode* arguments = nullptr;
  PickleNode* state = nullptr;  ///< what BUILD gave it
};

/// What a pickle made. Texts of nodes lie in the bytes that were read.
struct Pickle {
  std::deque<PickleNode> nodes{};
  std::deque<std::string> owned{};
  const PickleNode* root = nullptr;
  size_t end = 0;  ///< bytes of the pickle, up to its STOP
};

struct PickleLimits {
  /// Of nodes, some 150 bytes each with what holds them.
  size_t nodes = size_t{16} << 20;
};

/// Reads the pickle that `bytes` begins with. Names that are not in `allowed` are InvalidArgument that names them, as
/// are opcodes that would call one that may not be called; what comes from outside the pickle (extension registry,
/// buffers) is refused. `source` is for errors. `*ends_early` becomes true where the bytes end before the pickle does.
Result<Pickle> ReadPickle(std::string_view bytes, GlobalList allowed, const std::string& source,
                          const PickleLimits& limits = {}, bool* ends_early = nullptr);

}  // namespace assay::checkpoint
