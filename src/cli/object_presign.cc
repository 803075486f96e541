// assay object presign: a URL that lets its holder read or write one object for a while.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct PresignOptions {
  StoreFlags store;
  std::string uri;
  std::string method = "GET";
  int64_t seconds = 3600;
  std::string output;
};

Status Run(const PresignOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const std::string url,
                         place.store->Presign(place.key, options.method, options.seconds, interrupt.get()));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty({{"uri", place.store->Uri(place.key)},
                                     {"url", url},
                                     {"method", options.method},
                                     {"expires_in_seconds", options.seconds}}));
  } else {
    fmt::print("{}\n", url);
  }
  return Status::Ok();
}

}  // namespace

Action AddObjectPresign(CLI::App& app) {
  constexpr int64_t kWeek = int64_t{7} * 24 * 3600;
  auto options = std::make_shared<PresignOptions>();
  app.add_option("uri", options->uri, "The object")->required();
  app.add_option("--method", options->method, "What it allows")
      ->check(CLI::IsMember({"GET", "PUT"}))
      ->capture_default_str();
  app.add_option("--expires-in", options->seconds, "Seconds it is good for")
      ->check(WholeNumber(1, kWeek))
      ->capture_default_str();
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
