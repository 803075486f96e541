#include "cli/options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "samplestore/sample_store.h"

namespace assay::cli {

void AddOutputOption(CLI::App& app, std::string& output, const std::vector<std::string>& choices) {
  output = choices.front();
  app.add_option("--output", output, "Form of the output")->check(CLI::IsMember(choices))->capture_default_str();
}

void AddStoreOption(CLI::App& app, std::string& url) {
  app.add_option(
         "--store", url,
         "Store of measurements, sqlite:///PATH or postgresql://HOST/DATABASE [" + samplestore::DefaultStoreUrl() + "]")
      ->type_name("URL");
}

Result<std::unique_ptr<samplestore::SampleStore>> OpenUserStore(const std::string& url,
                                                                samplestore::StoreAccess access) {
  samplestore::StoreOptions options;
  options.on_outage = [](std::string_view text) { fmt::print(stderr, "{}\n", text); };
  return samplestore::OpenStore(url, access, options);
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

CLI::Validator Number(double least, double most) {
  const std::string wanted = most == std::numeric_limits<double>::infinity()
                                 ? fmt::format("a number of {} or more", least)
                                 : fmt::format("a number from {} to {}", least, most);
  const auto check = [=](const std::string& text) {
    double value = 0;
    const bool fine = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value >= least && value <= most;
    return fine ? std::string() : fmt::format("must be {}, not '{}'", wanted, text);
  };
  return {check, least == 0 ? "NONNEGATIVE" : "NUMBER"};
}

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  const std::string wanted = most >= kLargestCount ? fmt::format("a whole number of {} or more", least)
                                                   : fmt::format("a whole number from {} to {}", least, most);
  const auto check = [=](const std::string& text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range || (error == std::errc() && value > most && most >= kLargestCount)) {
      return fmt::format("is too large: '{}'", text);
    }
    const bool fine = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
    return fine ? std::string() : fmt::format("must be {}, not '{}'", wanted, text);
  };
  return {check, ""};
}

CLI::Validator ByteSize() {
  return {[](const std::string& text) { return ParseBytes(text).status().message(); }, ""};
}

void AddWritePlanOption(CLI::App& app, std::string& path) {
  app.add_option("--write-plan", path, "Make everything ready, write the plan to FILE for assay-worker, start nothing")
      ->type_name("FILE");
}

Status WritePlan(const job::Plan& plan, const std::string& path) {
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(path, DumpJsonPretty(job::ToJson(plan))));
  const int64_t ranks = job::TrainingOf(plan).number_ranks;
  const std::string launcher =
      ranks > 1 ? fmt::format("torchrun --nproc-per-node={} --no-python ", ranks) : std::string();
  fmt::print("plan for {} rank{} written; start it with: {}assay-worker --plan {}\n", ranks, ranks == 1 ? "" : "s",
             launcher, path);
  return Status::Ok();
}

experiment::PlanContext DefaultPlanContext() {
  return {.share_dir = ShareDirectory(), .cache_dir = UserCacheDirectory(), .threads = 0};
}

Status CheckRecorded(const explore::PointResult& result, const std::string& entity_id,
                     const samplestore::SampleStore& store) {
  if (result.source == explore::Source::kBusy) {
    return Status::FailedPrecondition(
        fmt::format("{} is being measured by another process on {}: wait for it", entity_id, store.url()));
  }
  if (result.source == explore::Source::kRefused) {
    return Status::FailedPrecondition(
        fmt::format("{} was measured by another process while this one stood still: this measurement is in {} (run it "
                    "again to see the other)",
                    entity_id, store.RefusedFile()));
  }
  return Status::Ok();
}

void WaitForInterrupt() {
  while (!InterruptRequested()) {
    constexpr useconds_t kPollMicroseconds = 50'000;
    ::usleep(kPollMicroseconds);
  }
}

}  // namespace assay::cli
