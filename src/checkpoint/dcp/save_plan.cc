#include "checkpoint/dcp/save_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "checkpoint/torch/torch_writer.h"

namespace assay::checkpoint {
namespace {

/// Tensors of so many bytes and more begin at pages; for smaller ones the gaps would cost more than they bring.
constexpr int64_t kLeastPagedBytes = 64 << 10;
constexpr int64_t kItemAlignment = 64;

/// A source of a size without bytes: layouts are made of sizes alone.
class NoSource final : public DataSource {
 public:
  std::string uri() const override { return "nothing"; }
  int64_t bytes() const override { return 0; }
  Status Read(std::span<const storage::ReadPiece> pieces) const override {
    return Status::Internal("a layout that was made to be measured was read");
  }
};

/// A box of a tensor as torch.save writes it.
Result<FileLayout> LayOutTensor(const HeldTensor& held, const DataRange& range) {
  Tensor tensor = ContiguousTensor(held.dtype, held.box.sizes, range.source, range.offset);
  return LayOutTorchFile(Value(std::make_shared<const Tensor>(std::move(tensor))));
}

/// Sizes of items, by what they depend on.
class ItemSizes {
 public:
  struct Size {
    int64_t length = 0;
    int64_t data_offset = 0;
    int64_t data_bytes = 0;
  };

  Result<Size> Of(const HeldTensor& held) {
    const auto [known, is_new] = known_.try_emplace({held.dtype, held.box.sizes});
    if (is_new) {
      ASSAY_ASSIGN_OR_RETURN(const FileLayout layout, LayOutTensor(held, {nothing_, 0}));
      const FileItem& data = layout.items().front();
      known->second = {layout.bytes(), data.offset, data.bytes};
    }
    return known->second;
  }

 private:
  std::shared_ptr<const DataSource> nothing_ = std::make_shared<NoSource>();
  std::map<std::pair<DType, Sizes>, Size> known_;
};

int64_t RoundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

class Planner {
 public:
  Planner(const std::vector<RankHoldings>& ranks, const SavePlanOptions& options) : ranks_(ranks), options_(options) {}

  Result<SavePlan> Run() {
    ASSAY_RETURN_IF_ERROR(ChooseWriters());
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      ASSAY_RETURN_IF_ERROR(PlanRank(rank));
    }
    ASSAY_RETURN_IF_ERROR(CheckCoverage());
    return std::move(plan_);
  }

 private:
  struct Item {
    bool is_value;
    size_t held;
    int64_t bytes;
  };
  struct Replicas {
    std::vector<std::pair<size_t, size_t>> holders;  ///< rank, and which of its holdings
    bool is_value = false;
    int64_t bytes = 0;
  };

  static std::string KeyOf(const HeldTensor& held) { return held.name + "\n" + ShapeText(held.box.offsets); }

  /// Each thing that is held, with all who hold it, in the order in which they come.
  Status ChooseWriters() {
    std::unordered_map<std::string, size_t> by_key;
    std::vector<Replicas> things;
    const auto add = [&](const std::string& key, size_t rank, size_t held, bool is_value, int64_t bytes) {
      const auto [known, is_new] = by_key.try_emplace(key, things.size());
      if (is_new) {
        things.push_back({{}, is_value, bytes});
      }
      things[known->second].holders.emplace_back(rank, held);
    };
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (size_t i = 0; i < ranks_[rank].values.size(); ++i) {
        add(ranks_[rank].values[i].name, rank, i, true, ranks_[rank].values[i].bytes);
      }
      for (size_t i = 0; i < ranks_[rank].tensors.size(); ++i) {
        const HeldTensor& held = ranks_[rank].tensors[i];
        ASSAY_RETURN_IF_ERROR(CheckHeld(held));
        if (Count(held.box.sizes) > 0 || Count(held.shape) == 0) {
          add(KeyOf(held), rank, i, false, BytesOf(held.dtype, Count(held.box.sizes)));
        }
      }
    }
    AssignWriters(things);
    return Status::Ok();
  }

  void AssignWriters(const std::vector<Replicas>& things) {
    items_.resize(ranks_.size());
    std::vector<int64_t> planned(ranks_.size(), 0);
    for (const Replicas& thing : things) {
      auto writer = thing.holders.front();
      for (const auto& holder : thing.holders) {
        if (!options_.to_lowest_rank && planned[holder.first] < planned[writer.first]) {
          writer = holder;
        }
      }
      planned[writer.first] += std::max<int64_t>(thing.bytes, 1);
      items_[writer.first].push_back({thing.is_value, writer.second, thing.bytes});
    }
  }

  Status CheckHeld(const HeldTensor& held) {
    if (InfoOf(held.dtype).quantized || IsPacked(held.dtype)) {
      return Status::Unsupported(
          fmt::format("cannot write tensor '{}' of {}: torch.distributed.checkpoint has no place "
                      "for its quantiser (--format pt has)",
                      held.name, InfoOf(held.dtype).name));
    }
    if (!LiesWithin(held.box, held.shape)) {
      return Status::InvalidArgument(fmt::format("the part of tensor '{}' at {} of {} does not lie within its shape {}",
                                                 held.name, ShapeText(held.box.offsets), ShapeText(held.box.sizes),
                                                 ShapeText(held.shape)));
    }
    const auto [entry, is_new] = entry_of_.try_emplace(held.name, plan_.metadata.entries.size());
    if (is_new) {
      plan_.metadata.entries.push_back({.name = held.name,
                                        .path = held.path,
                                        .is_tensor = true,
                                        .dtype = held.dtype,
                                        .requires_grad = held.requires_grad,
                                        .shape = held.shape});
      return Status::Ok();
    }
    const DcpEntry& known = plan_.metadata.entries[entry->second];
    if (known.dtype != held.dtype || known.shape != held.shape) {
      return Status::InvalidArgument(fmt::format("tensor '{}' is {} {} on one rank and {} {} on another", held.name,
                                                 InfoOf(known.dtype).name, ShapeText(known.shape),
                                                 InfoOf(held.dtype).name, ShapeText(held.shape)));
    }
    return Status::Ok();
  }

  /// The rank's items in so many files, the largest first into the one that has the least.
  Status PlanRank(size_t rank) {
    std::vector<Item>& items = items_[rank];
    std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
      return a.is_value != b.is_value ? a.is_value : !a.is_value && a.bytes > b.bytes;
    });
    const size_t files = std::min<size_t>(static_cast<size_t>(std::max(options_.files_per_rank, 1)), items.size());
    std::vector<std::vector<Item>> buckets(files);
    std::vector<int64_t> bytes(files, 0);
    for (const Item& item : items) {
      const auto least = static_cast<size_t>(std::ranges::min_element(bytes) - bytes.begin());
      buckets[least].push_back(item);
      bytes[least] += std::max<int64_t>(item.bytes, 1);
    }
    std::vector<PlannedFile>& planned = plan_.ranks.emplace_back();
    const std::string prefix =
        options_.folder + FilePrefix(options_.prefix, static_cast<int>(rank), static_cast<int>(ranks_.size()));
    for (size_t i = 0; i < files; ++i) {
      planned.push_back({fmt::format("{}{}.distcp", prefix, i), {}});
      ASSAY_RETURN_IF_ERROR(PlanFile(rank, buckets[i], planned.back()));
    }
    return Status::Ok();
  }

  Status PlanFile(size_t rank, const std::vector<Item>& items, PlannedFile& file) {
    int64_t end = 0;
    for (const Item& item : items) {
      PlannedItem planned = {.is_value = item.is_value, .held = item.held};
      if (item.is_value) {
        const HeldValue& held = ranks_[rank].values[item.held];
        planned.offset = RoundUp(end, kItemAlignment);
        planned.length = held.bytes;
        plan_.metadata.entries.push_back({.name = held.name, .path = held.path});
        plan_.metadata.entries.back().chunks.push_back({{}, {file.name, planned.offset, planned.length}});
      } else {
        const HeldTensor& held = ranks_[rank].tensors[item.held];
        ASSAY_ASSIGN_OR_RETURN(const ItemSizes::Size size, sizes_.Of(held));
        const int64_t to = size.data_bytes >= kLeastPagedBytes ? options_.page_bytes : kItemAlignment;
        planned.offset = RoundUp(end + size.data_offset, to) - size.data_offset;
        planned.length = size.length;
        plan_.metadata.entries[entry_of_.at(held.name)].chunks.push_back(
            {held.box, {file.name, planned.offset, planned.length}});
      }
      end = planned.offset + planned.length;
      file.items.push_back(planned);
    }
    return Status::Ok();
  }

  /// What ranks hold of a tensor is all of it, once.
  Status CheckCoverage() const {
    for (const DcpEntry& entry : plan_.metadata.entries) {
      if (!entry.is_tensor) {
        continue;
      }
      Tensor tensor = {.dtype = entry.dtype, .shape = entry.shape};
      const auto storage = std::make_shared<const Storage>(Storage{nullptr, 0, std::numeric_limits<int64_t>::max()});
      for (const DcpChunk& chunk : entry.chunks) {
        tensor.blocks.push_back({chunk.box, ContiguousStrides(chunk.box.sizes), storage, 0});
      }
      ASSAY_RETURN_IF_ERROR(CheckTensor(tensor, entry.name));
    }
    return Status::Ok();
  }

  const std::vector<RankHoldings>& ranks_;
  const SavePlanOptions& options_;
  SavePlan plan_;
  ItemSizes sizes_;
  std::unordered_map<std::string, size_t> entry_of_;  ///< of tensors
  std::vector<std::vector<Item>> items_;              ///< that each rank writes
};

}  // namespace

Result<SavePlan> PlanSave(const std::vector<RankHoldings>& ranks, const SavePlanOptions& options) {
  return Planner(ranks, options).Run();
}

std::vector<int64_t> BytesOfRanks(const SavePlan& plan) {
  std::vector<int64_t> bytes;
  for (const std::vector<PlannedFile>& files : plan.ranks) {
    int64_t& of_rank = bytes.emplace_back(0);
    for (const PlannedFile& file : files) {
      for (const PlannedItem& item : file.items) {
        of_rank += item.length;
      }
    }
  }
  return bytes;
}

DcpMetadata MetadataOfSave(const SavePlan& plan, const std::string& folder, std::string save_id,
                           std::string checkpoint_id) {
  DcpMetadata metadata = plan.metadata;
  metadata.save_id = std::move(save_id);
  metadata.checkpoint_id = std::move(checkpoint_id);
  for (DcpEntry& entry : metadata.entries) {
    for (DcpChunk& chunk : entry.chunks) {
      chunk.place.file.insert(0, folder);
    }
  }
  return metadata;
}

Result<FileLayout> LayOutValue(const Value& value) {
  return LayOutTorchFile(value);
}

Result<FileLayout> LayOutFile(const PlannedFile& file, const RankHoldings& holdings, const RankContents& contents) {
  FileLayout layout;
  for (const PlannedItem& item : file.items) {
    FileLayout next;
    if (item.is_value) {
      next = contents.values[item.held];
    } else {
      ASSAY_ASSIGN_OR_RETURN(next, LayOutTensor(holdings.tensors[item.held], contents.tensors[item.held]));
      next.NameItems(holdings.tensors[item.held].name);
    }
    if (next.bytes() != item.length) {
      return Status::Internal(fmt::format("an item of {} has {} bytes and not the {} that were planned", file.name,
                                          next.bytes(), item.length));
    }
    layout.AddText(std::string(static_cast<size_t>(item.offset - layout.bytes()), '\0'));
    layout.Append(std::move(next));
  }
  return layout;
}

}  // namespace assay::checkpoint
