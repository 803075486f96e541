#include "samplestore/exchange/copy.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/subprocess.h"

namespace assay::samplestore {
namespace {

constexpr size_t kBatch = 256;

Result<std::vector<OperationResult>> AllResults(SampleStore& store, const std::string& operation) {
  constexpr int64_t kPage = 10'000;
  std::vector<OperationResult> all;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<OperationResult> page,
                           store.ListResults(operation, all.empty() ? -1 : all.back().number, kPage));
    all.insert(all.end(), page.begin(), page.end());
    more = std::ssize(page) == kPage;
  }
  return all;
}

Result<int64_t> CopyOperations(SampleStore& from, SampleStore& to) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Operation> operations, from.ListOperations());
  int64_t added = 0;
  for (const Operation& operation : operations) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<OperationResult> results, AllResults(from, operation.uid));
    ASSAY_ASSIGN_OR_RETURN(const bool is_new, to.AppendOperation(operation, results));
    added += is_new ? 1 : 0;
  }
  return added;
}

}  // namespace

Importer::Importer(SampleStore& store, std::function<void(const CopySummary&)> on_batch)
    : store_(store), on_batch_(std::move(on_batch)) {}

Status Importer::Add(Measurement measurement) {
  waiting_.push_back(std::move(measurement));
  return waiting_.size() < kBatch ? Status::Ok() : Finish();
}

Status Importer::Finish() {
  if (InterruptRequested()) {
    return Status::Aborted(fmt::format(
        "interrupted after {} measurements, which are kept: the same command adds the rest", summary_.added));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t added, store_.AppendNew(waiting_));
  summary_.added += added;
  summary_.there_already += std::ssize(waiting_) - added;
  waiting_.clear();
  if (on_batch_) {
    on_batch_(summary_);
  }
  return Status::Ok();
}

Result<CopySummary> CopyStore(SampleStore& from, SampleStore& to, const MeasurementFilter& filter,
                              const std::function<void(const CopySummary&)>& on_batch) {
  Importer importer(to, on_batch);
  ASSAY_RETURN_IF_ERROR(from.ForEach(filter, /*with_series=*/true,
                                     [&](const Measurement& measurement) { return importer.Add(measurement); }));
  ASSAY_RETURN_IF_ERROR(importer.Finish());
  CopySummary summary = importer.summary();
  if (filter == MeasurementFilter()) {
    ASSAY_ASSIGN_OR_RETURN(summary.operations, CopyOperations(from, to));
  }
  return summary;
}

}  // namespace assay::samplestore
