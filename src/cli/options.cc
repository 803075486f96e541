#include "cli/options.h"

#include <cmath>

#include "base/files.h"
#include "base/text.h"
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

CLI::Validator NotNegative() {
  const auto check = [](const std::string& text) {
    double value = 0;
    const bool fine = CLI::detail::lexical_cast(text, value) && value >= 0 && std::isfinite(value);
    return fine ? std::string() : "must be a number of 0 or more, not '" + text + "'";
  };
  return {check, "NONNEGATIVE"};
}

CLI::Validator ByteSize() {
  return {[](const std::string& text) { return ParseBytes(text).status().message(); }, ""};
}

experiment::PlanContext DefaultPlanContext() {
  return {.share_dir = ShareDirectory(), .cache_dir = UserCacheDirectory(), .threads = 0};
}

}  // namespace assay::cli
