#include "cli/options.h"

#include <cmath>
#include <map>

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

void AddReuseOption(CLI::App& app, explore::Reuse& reuse) {
  std::map<std::string, explore::Reuse> names;
  for (const explore::Reuse each : explore::AllReuses()) {
    names.emplace(explore::ToString(each), each);
  }
  app.add_option("--reuse", reuse,
                 "Which measurements of the store count: those of this kind of machine, commit, libtorch and settings "
                 "(commit), of this kind of machine (machine), or all (anywhere) [commit]")
      ->transform(CLI::CheckedTransformer(names, CLI::ignore_case).description("{machine,commit,anywhere}"));
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
