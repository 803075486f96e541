#include "engine/train/machine_parameters.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/text.h"
#include "engine/comm/gather_text.h"
#include "engine/comm/host_map.h"
#include "engine/comm/shm/shared_segment.h"
#include "engine/model/mapped_pages.h"
#include "engine/model/tensor_split.h"
#include "engine/train/rank_agreement.h"

namespace assay::engine {
namespace {

constexpr char kSegmentName[] = "assay parameters";

/// What this rank makes of a segment that others make the rest of, and what it has of all of it.
class SharedPart {
 public:
  SharedPart(ParameterMaker maker, const std::vector<ParameterSpec>& specs)
      : maker_(std::move(maker)), layout_(specs, maker_.options()) {}

  size_t bytes() const { return layout_.bytes; }

  /// Those parameters that begin in this rank's stretch of the segment.
  void make(const FileDescriptor& segment, size_t number, size_t ranks) {
    const SharedMapping mapping(segment);
    if (mapping.bytes().size() != layout_.bytes) {
      throw CommError(fmt::format("the first rank of this machine shares parameters of {} bytes, here they have {}",
                                  mapping.bytes().size(), layout_.bytes));
    }
    for (const SharedParameter& parameter : layout_.parameters) {
      if (parameter.begin * ranks / layout_.bytes == number) {
        make_parts(parameter, mapping.bytes().subspan(parameter.begin));
      }
    }
  }

  MadeParameters map(const FileDescriptor& segment) const {
    MadeParameters made;
    for (const SharedParameter& parameter : layout_.parameters) {
      made.emplace(parameter.spec.name, part_of_rank(parameter, segment));
    }
    return made;
  }

 private:
  void make_parts(const SharedParameter& parameter, std::span<std::byte> memory) {
    const auto options = at::TensorOptions().dtype(maker_.options().dtype);
    if (parameter.parts == 1) {
      at::Tensor target = at::from_blob(memory.data(), parameter.part_shape, options);
      maker_.make(parameter.spec, target);
      return;
    }
    const at::Tensor whole = maker_.make(parameter.spec);
    for (int64_t rank = 0; rank < parameter.parts; ++rank) {
      std::byte* begin = memory.data() + static_cast<size_t>(rank) * parameter.part_bytes;
      at::from_blob(begin, parameter.part_shape, options)
          .copy_(cut_for_rank(maker_.options().rules, parameter.spec.name, whole, {rank, parameter.parts},
                              /*in_place=*/true));
    }
  }

  at::Tensor part_of_rank(const SharedParameter& parameter, const FileDescriptor& segment) const {
    const auto rank = static_cast<size_t>(maker_.options().place.rank);
    if (rank > 0 && split_of(maker_.options().rules, parameter.spec.name) == TensorSplit::kFirstRank) {
      return {};
    }
    const size_t begin = parameter.begin + (parameter.parts > 1 ? rank * parameter.part_bytes : 0);
    return MappedPages::map(segment.get(), kSegmentName, begin, parameter.part_bytes)
        ->tensor(0, parameter.part_shape, maker_.options().dtype);
  }

  ParameterMaker maker_;
  SharedLayout layout_;
};

/// Where ranks find the segment of their machine: what they have in common, and what its first one tells of it.
class SegmentMeeting {
 public:
  explicit SegmentMeeting(const RankEnvironment& environment) : rank_(environment.rank) {
    const HostIdentity host = own_host(environment);
    machine_ = host.system + "\n" + host.group + "\n";
  }

  /// What this rank tells the others; `segment`: null where it is not the first one of its machine.
  std::string offer(const FileDescriptor* segment) const {
    if (segment == nullptr) {
      return machine_;
    }
    const SegmentAddress address = address_of(*segment);
    return fmt::format("{}{} {} {}", machine_, address.pid, address.fd, address.inode);
  }

  /// Of the ranks that met, which of those on this machine this one is, and how many they are: what launchers say of
  /// that may have gaps.
  std::pair<size_t, size_t> place_among(const std::vector<std::string>& offers) const {
    const auto is_here = [&](const std::string& offer) { return offer.starts_with(machine_); };
    return {std::ranges::count_if(offers.begin(), offers.begin() + rank_, is_here),
            std::ranges::count_if(offers, is_here)};
  }

  FileDescriptor open(const std::vector<std::string>& offers) const {
    const auto is_of_machine = [&](const std::string& offer) {
      return offer.size() > machine_.size() && offer.starts_with(machine_);
    };
    const auto found = std::ranges::find_if(offers, is_of_machine);
    const auto count = std::ranges::count_if(offers, is_of_machine);
    if (count != 1) {
      throw CommError(fmt::format(
          "{} ranks of the machine of rank {} are the first there (LOCAL_RANK 0): start ranks with torchrun, or number "
          "those of each machine from 0",
          count, rank_));
    }
    const std::vector<std::string> parts = Split(found->substr(machine_.size()), ' ');
    return open_segment(
        {.pid = std::stoll(parts.at(0)), .fd = std::stoll(parts.at(1)), .inode = std::stoll(parts.at(2))},
        fmt::format("rank {}", found - offers.begin()));
  }

 private:
  int rank_;
  std::string machine_;
};

}  // namespace

SharedLayout::SharedLayout(const std::vector<ParameterSpec>& specs, const ParameterOptions& options) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const int64_t ranks = options.place.ranks;
  for (const ParameterSpec& spec : specs) {
    SharedParameter& parameter = parameters.emplace_back();
    parameter.spec = spec;
    parameter.part_shape = part_shape(options.rules, spec.name, spec.shape, ranks);
    parameter.parts = parameter.part_shape == spec.shape ? 1 : ranks;
    const auto elements = static_cast<size_t>(c10::multiply_integers(parameter.part_shape));
    parameter.part_bytes = (elements * c10::elementSize(options.dtype) + page - 1) / page * page;
    parameter.begin = bytes;
    bytes += static_cast<size_t>(parameter.parts) * parameter.part_bytes;
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
  FileDescriptor segment;  // open until all have opened it
  const bool is_first = environment.local_rank == 0;
  do_on_all_ranks(world, device, what, [&] {
    if (!are_shared(device, environment.local_world_size)) {
      return;
    }
    ParameterMaker maker = open();
    if (const std::vector<ParameterSpec> specs = maker.not_in_place(); !specs.empty()) {
      part.emplace(std::move(maker), specs);
      segment = is_first ? create_segment(kSegmentName, part->bytes()) : FileDescriptor();
    }
  });
  const SegmentMeeting meeting(environment);
  const std::vector<std::string> offers =
      gather_text(*world, meeting.offer(is_first && part ? &segment : nullptr), "shared parameters of all machines");
  MadeParameters made;
  do_on_all_ranks(world, device, what, [&] {
    if (part) {
      const FileDescriptor shared = meeting.open(offers);
      const auto [number, ranks] = meeting.place_among(offers);
      part->make(shared, number, ranks);
      made = part->map(shared);
    }
  });
  return made;
}

}  // namespace assay::engine
