// What put, get and cp do once their arguments are read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "cli/object_options.h"

namespace assay::cli {

struct CopyFlags {
  StoreFlags store;
  WriteFlags write;
  bool recursive = false;
  bool dry_run = false;
  bool always = false;
  bool no_resume = false;
  bool quiet = false;
  int jobs = 16;
  std::string output;

  void AddTo(CLI::App& app);
};

/// Copies the object or, with --recursive, the folder `from` to `to`; "-" is standard input or output.
Status RunCopy(const CopyFlags& flags, const std::string& from, const std::string& to);

}  // namespace assay::cli
