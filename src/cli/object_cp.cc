// assay object cp, put, get and sync: objects and folders from anywhere to anywhere.
#include <memory>
#include <string>

#include "cli/object_copy_run.h"
#include "cli/object_verb.h"

namespace assay::cli {
namespace {

struct CpOptions {
  CopyFlags copy;
  std::string from;
  std::string to;
};

}  // namespace

Action AddObjectCp(CLI::App& app) {
  auto options = std::make_shared<CpOptions>();
  app.add_option("from", options->from, "A URI or a path; -: standard input")->required();
  app.add_option("to", options->to, "A URI or a path; a folder takes the object under its own name; -: standard output")
      ->required();
  options->copy.AddTo(app);
  return [options] { return RunCopy(options->copy, options->from, options->to); };
}

Action AddObjectPut(CLI::App& app) {
  auto options = std::make_shared<CpOptions>();
  app.add_option("file", options->from, "A file, a folder with --recursive; -: standard input")->required();
  app.add_option("uri", options->to, "Where it goes; a prefix that ends with / takes the file under its own name")
      ->required();
  options->copy.AddTo(app);
  return [options] { return RunCopy(options->copy, options->from, options->to); };
}

Action AddObjectGet(CLI::App& app) {
  auto options = std::make_shared<CpOptions>();
  options->to = "./";
  app.add_option("uri", options->from, "The object, or the prefix of many with --recursive")->required();
  app.add_option("file", options->to, "A file or a folder; -: standard output")->capture_default_str();
  options->copy.AddTo(app);
  return [options] { return RunCopy(options->copy, options->from, options->to); };
}

Action AddObjectSync(CLI::App& app) {
  auto options = std::make_shared<CpOptions>();
  app.add_option("from", options->from, "A folder: a path, or a URI of a bucket or a prefix")->required();
  app.add_option("to", options->to, "The folder that is to hold the same; made where missing")->required();
  options->copy.AddSyncTo(app);
  return [options] { return RunCopy(options->copy, options->from, options->to); };
}

}  // namespace assay::cli
