// What the user sees of a copy while it runs: lines or JSON on standard output, failures and progress on standard
// error.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json_list.h"
#include "cli/object_progress.h"
#include "storage/copy/copy_tree.h"

namespace assay::cli {

struct CopyReportOptions {
  bool json = false;
  bool quiet = false;  ///< failures only
};

class CopyReport final : public storage::TreeCopyListener {
 public:
  CopyReport(CopyReportOptions options, TransferProgress& progress) : options_(options), progress_(progress) {}

  void OnPlan(int64_t objects, int64_t bytes, bool all) override { progress_.SetTotal(bytes, objects, all); }
  void OnBytes(int64_t bytes) override { progress_.AddBytes(bytes); }
  void OnObject(const storage::TreeCopyEvent& event) override;

  /// Closes the JSON.
  void Finish();
  int64_t failed() const { return failed_; }

 private:
  const CopyReportOptions options_;
  TransferProgress& progress_;
  JsonList json_;
  int64_t failed_ = 0;
};

}  // namespace assay::cli
