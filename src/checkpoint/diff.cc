#include "checkpoint/diff.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "base/json.h"
#include "base/parallel.h"
#include "checkpoint/value/value_json.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;
using Kind = LeafDifference::Kind;

constexpr int64_t kCompareBytes = int64_t{4} << 20;

/// A stretch of a source, where it lies or in `memory`.
Result<Bytes> Fetch(const DataSource& source, int64_t offset, int64_t bytes, std::vector<std::byte>& memory) {
  ASSAY_ASSIGN_OR_RETURN(const auto view, source.View(offset, bytes));
  if (view) {
    return *view;
  }
  memory.resize(static_cast<size_t>(bytes));
  const storage::ReadPiece piece = {offset, memory};
  ASSAY_RETURN_IF_ERROR(source.Read(std::span(&piece, 1)));
  return Bytes(memory);
}

/// Of a dtype that is not numeric: bytes that differ, as elements.
ElementDifference CompareBits(int64_t element_bytes, Bytes a, Bytes b) {
  ElementDifference difference;
  const auto step = static_cast<size_t>(element_bytes);
  for (size_t at = 0; at + step <= a.size(); at += step) {
    difference.differing += std::ranges::equal(a.subspan(at, step), b.subspan(at, step)) ? 0 : 1;
  }
  difference.not_comparable = difference.differing;
  return difference;
}

class Comparison {
 public:
  Comparison(storage::CancelFlag cancel, const storage::ProgressCallback& progress)
      : cancel_(cancel), progress_(progress) {}

  Status CompareTensors(const std::shared_ptr<const Tensor>& a, const std::shared_ptr<const Tensor>& b,
                        LeafDifference& leaf) {
    if (a->dtype != b->dtype || a->shape != b->shape) {
      leaf.kind = Kind::kOtherForm;
      return Status::Ok();
    }
    const auto of_a = RowMajorBytes(a);
    const auto of_b = RowMajorBytes(b);
    const int64_t bytes = a->bytes();
    const int64_t stretches = (bytes + kCompareBytes - 1) / kCompareBytes;
    std::vector<ElementDifference> parts(static_cast<size_t>(stretches));
    ASSAY_RETURN_IF_ERROR(ParallelUntilFailure(stretches, UsableThreads(), [&](int64_t i) {
      const int64_t offset = i * kCompareBytes;
      return CompareStretch(*of_a, *of_b, a->dtype, offset, std::min(kCompareBytes, bytes - offset),
                            parts[static_cast<size_t>(i)]);
    }));
    ElementDifference whole;
    for (const ElementDifference& part : parts) {
      whole.Add(part);
    }
    leaf.kind = whole.differing == 0 ? Kind::kSame : Kind::kChanged;
    leaf.elements = whole;
    return Status::Ok();
  }

 private:
  Status CompareStretch(const DataSource& a, const DataSource& b, DType dtype, int64_t offset, int64_t bytes,
                        ElementDifference& difference) const {
    if (storage::IsCancelled(cancel_)) {
      return storage::CancelledStatus("compare", a.uri());
    }
    std::vector<std::byte> memory_a;
    std::vector<std::byte> memory_b;
    ASSAY_ASSIGN_OR_RETURN(const Bytes of_a, Fetch(a, offset, bytes, memory_a));
    ASSAY_ASSIGN_OR_RETURN(const Bytes of_b, Fetch(b, offset, bytes, memory_b));
    difference = IsNumeric(dtype) ? CompareElements(dtype, of_a, of_b) : CompareBits(ElementBytes(dtype), of_a, of_b);
    if (progress_ != nullptr) {
      progress_(bytes);
    }
    return Status::Ok();
  }

  const storage::CancelFlag cancel_;
  const storage::ProgressCallback& progress_;
};

/// Values are the same when they are written the same: as JSON's numbers 1 and 1.0 would be equal.
Result<bool> AreSame(const Value& a, const Value& b) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json of_a, ValueToJson(a));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json of_b, ValueToJson(b));
  return DumpJson(of_a) == DumpJson(of_b);
}

}  // namespace

Result<std::vector<LeafDifference>> Diff(const Checkpoint& a, const Checkpoint& b,
                                         const storage::ProgressCallback& progress) {
  ASSAY_RETURN_IF_ERROR(CheckExpanded(a.state));
  ASSAY_RETURN_IF_ERROR(CheckExpanded(b.state));
  std::map<std::string_view, const Leaf*> others;
  for (const Leaf& leaf : b.state.leaves) {
    others[leaf.name] = &leaf;
  }
  Comparison comparison(a.found.place.cancel, progress);
  std::vector<LeafDifference> differences;
  for (const Leaf& leaf : a.state.leaves) {
    LeafDifference& difference = differences.emplace_back();
    difference.name = leaf.name;
    difference.in_a = ShortText(leaf.value);
    const auto found = others.find(leaf.name);
    if (found == others.end()) {
      difference.kind = Kind::kOnlyInA;
      continue;
    }
    const Value& other = found->second->value;
    difference.in_b = ShortText(other);
    others.erase(found);
    const auto of_a = leaf.value.tensor();
    const auto of_b = other.tensor();
    if (of_a != nullptr && of_b != nullptr) {
      ASSAY_RETURN_IF_ERROR(comparison.CompareTensors(of_a, of_b, difference));
    } else if (of_a != nullptr || of_b != nullptr) {
      difference.kind = Kind::kOtherForm;
    } else {
      ASSAY_ASSIGN_OR_RETURN(const bool same, AreSame(leaf.value, other));
      difference.kind = same ? Kind::kSame : Kind::kChanged;
    }
  }
  for (const Leaf& leaf : b.state.leaves) {
    if (others.contains(leaf.name)) {
      differences.push_back({.name = leaf.name, .kind = Kind::kOnlyInB, .in_b = ShortText(leaf.value)});
    }
  }
  return differences;
}

}  // namespace assay::checkpoint
