// What put, get, cp and sync do once their arguments are read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "cli/object_copy_report.h"
#include "cli/object_options.h"
#include "storage/copy/copy_tree.h"

namespace assay::cli {

struct CopyFlags {
  StoreFlags store;
  WriteFlags write;
  storage::KeyFilter filter;
  storage::Comparison comparison = storage::Comparison::kContent;
  bool recursive = false;
  bool remove_others = false;
  bool dry_run = false;
  bool always = false;
  bool no_resume = false;
  bool quiet = false;
  int jobs = 16;
  std::string output;

  /// Of put, get and cp.
  void AddTo(CLI::App& app);
  /// Of sync, which is of folders always.
  void AddSyncTo(CLI::App& app);
  CopyReportOptions report() const { return {.json = output == "json", .quiet = quiet}; }

 private:
  void AddFilterTo(CLI::App& app);
  void AddSharedTo(CLI::App& app);
};

/// Copies the object or, with --recursive, the folder `from` to `to`; "-" is standard input or output.
Status RunCopy(const CopyFlags& flags, const std::string& from, const std::string& to);

}  // namespace assay::cli
