#include "engine/train/machine_parameters.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "engine/comm/gather_text.h"
#include "engine/comm/shm/shared_segment.h"
#include "engine/model/mapped_pages.h"
#include "engine/train/rank_agreement.h"

namespace assay::engine {
namespace {

constexpr char kSegmentName[] = "assay parameters";

/// What this rank makes of a segment that others make the rest of.
class SharedPart {
 public:
  SharedPart(ParameterMaker maker, std::vector<ParameterSpec> specs)
      : maker_(std::move(maker)), specs_(std::move(specs)), layout_(specs_, maker_.options().dtype) {}

  size_t bytes() const { return layout_.bytes; }

  /// Every `ranks`th parameter from the one at `first` on, into `segment`.
  void make(const FileDescriptor& segment, size_t first, size_t ranks) {
    const SharedMapping mapping(segment);
    for (size_t i = first; i < specs_.size(); i += ranks) {
      at::Tensor target = at::from_blob(mapping.bytes().data() + layout_.begins[i], specs_[i].shape,
                                        at::TensorOptions().dtype(maker_.options().dtype));
      maker_.make(specs_[i], target);
    }
  }

  MadeParameters map(const FileDescriptor& segment) const {
    const std::shared_ptr<const MappedPages> pages = MappedPages::map(segment.get(), kSegmentName);
    MadeParameters made;
    for (size_t i = 0; i < specs_.size(); ++i) {
      made.emplace(specs_[i].name, pages->tensor(layout_.begins[i], specs_[i].shape, maker_.options().dtype));
    }
    return made;
  }

 private:
  ParameterMaker maker_;
  std::vector<ParameterSpec> specs_;
  SharedLayout layout_;
};

std::string text_of(const SegmentAddress& address) {
  return fmt::format("{} {}", address.pid, address.fd);
}

SegmentAddress address_in(const std::string& text) {
  const std::vector<std::string> parts = Split(text, ' ');
  return {.pid = std::stoll(parts.at(0)), .fd = std::stoll(parts.at(1))};
}

}  // namespace

SharedLayout::SharedLayout(const std::vector<ParameterSpec>& specs, at::ScalarType dtype) {
  constexpr size_t kAlignment = 64;  // of vector loads
  for (const ParameterSpec& spec : specs) {
    begins.push_back(bytes);
    const auto elements = static_cast<size_t>(c10::multiply_integers(spec.shape));
    bytes += (elements * c10::elementSize(dtype) + kAlignment - 1) / kAlignment * kAlignment;
  }
}

bool are_shared(c10::Device device, int64_t local_ranks) {
  return device.is_cpu() && local_ranks > 1;
}

MadeParameters make_on_machine(Communicator* world, const RankEnvironment& environment, c10::Device device,
                               const std::string& what, const std::function<ParameterMaker()>& open) {
  if (world == nullptr || world->size() == 1 || !device.is_cpu()) {
    return {};
  }
  std::optional<SharedPart> part;
  FileDescriptor segment;
  const bool first = environment.local_rank == 0;
  do_on_all_ranks(world, device, what, [&] {
    if (!are_shared(device, environment.local_world_size)) {
      return;
    }
    ParameterMaker maker = open();
    if (std::vector<ParameterSpec> specs = maker.not_in_place(); !specs.empty()) {
      part.emplace(std::move(maker), std::move(specs));
      segment = first ? create_segment(kSegmentName, part->bytes()) : FileDescriptor();
    }
  });
  const std::string own = first && part ? text_of(address_of(segment)) : "";
  const std::vector<std::string> addresses = gather_text(*world, own, "shared parameters of all machines");
  do_on_all_ranks(world, device, what, [&] {
    if (part) {
      const auto first_here = static_cast<size_t>(environment.rank - environment.local_rank);
      segment = first ? std::move(segment) : open_segment(address_in(addresses.at(first_here)));
      part->make(segment, static_cast<size_t>(environment.local_rank),
                 static_cast<size_t>(environment.local_world_size));
    }
  });
  return part ? part->map(segment) : MadeParameters();
}

}  // namespace assay::engine
