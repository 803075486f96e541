#include "cli/options.h"

#include "base/files.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

void AddOutputOption(CLI::App& app, std::string& output, const std::vector<std::string>& choices) {
  output = choices.front();
  app.add_option("--output", output, "Form of the output")->check(CLI::IsMember(choices))->capture_default_str();
}

void AddStoreOption(CLI::App& app, std::string& url) {
  app.add_option("--store", url, "Store of measurements, sqlite:///PATH [" + samplestore::DefaultStoreUrl() + "]")
      ->type_name("URL");
}

experiment::PlanContext DefaultPlanContext() {
  return {.share_dir = ShareDirectory(), .cache_dir = UserCacheDirectory(), .threads = 0};
}

}  // namespace assay::cli
