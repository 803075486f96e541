// How a save over ranks becomes files: who writes what, and where in which file it will lie. Made in one place (rank 0)
// from what every rank holds, before a byte is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/dcp/prefix.h"
#include "checkpoint/file/file_layout.h"
#include "checkpoint/tensor/tensor.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// A box of a tensor that a rank holds. Ranks that hold the same box are replicas: one of them writes it.
struct HeldTensor {
  std::string name{};
  std::vector<PathStep> path{};
  DType dtype = DType::kFloat32;
  Sizes shape{};  ///< of the whole tensor
  Box box{};
  bool requires_grad = false;
};

/// A value that a rank holds; those of one name are the same on all ranks that hold it.
struct HeldValue {
  std::string name{};
  std::vector<PathStep> path{};
  int64_t bytes = 0;  ///< of what torch.save makes of it
};

struct RankHoldings {
  std::vector<HeldTensor> tensors{};
  std::vector<HeldValue> values{};
};

struct SavePlanOptions {
  PrefixOptions prefix{};
  int files_per_rank = 1;       ///< that are written in parallel; never more than a rank has items
  bool to_lowest_rank = false;  ///< replicas: written by the lowest rank, not by the one with the least to write
  int64_t page_bytes = 4096;    ///< large tensors' bytes begin at multiples of it in the file
  std::string folder{};         ///< before every name: "" or with '/' at its end
  std::string save_id{};
  std::string checkpoint_id{};
};

struct PlannedItem {
  bool is_value = false;
  size_t held = 0;     ///< which of the rank's values or tensors
  int64_t offset = 0;  ///< in the file, of the item of torch.save
  int64_t length = 0;
};

struct PlannedFile {
  std::string name{};
  std::vector<PlannedItem> items{};
};

/// The same for every save of the same holdings: a training plans once.
struct SavePlan {
  DcpMetadata metadata{};
  std::vector<std::vector<PlannedFile>> ranks{};  ///< files of each rank
};

/// As torch's DefaultSavePlanner plans (default_planner.py, _dedup_save_plans.py): replicas go to the rank with the
/// least planned so far, items to a rank's files by size, values before tensors. InvalidArgument, naming the tensor,
/// where boxes of different ranks overlap without being the same, leave something out, or differ in dtype or shape.
Result<SavePlan> PlanSave(const std::vector<RankHoldings>& ranks, const SavePlanOptions& options);

/// What each rank writes of its items.
std::vector<int64_t> BytesOfRanks(const SavePlan& plan);

/// The metadata of a save by the plan: `folder` ("" or with '/' at its end) stands before the names of its files.
DcpMetadata MetadataOfSave(const SavePlan& plan, const std::string& folder, std::string save_id,
                           std::string checkpoint_id);

/// The bytes of what a rank holds, in the order of its holdings.
struct RankContents {
  std::vector<DataRange> tensors{};  ///< each box in row-major order
  std::vector<FileLayout> values{};  ///< LayOutValue() of each
};

/// What torch.save makes of a value: its size is what HeldValue asks for.
Result<FileLayout> LayOutValue(const Value& value);

/// One of the files that `plan` gives the rank, to be written (file/write_file.h). Bytes stay where they are.
Result<FileLayout> LayOutFile(const PlannedFile& file, const RankHoldings& holdings, const RankContents& contents);

}  // namespace assay::checkpoint
