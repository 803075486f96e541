// assay model pull: fetches a model from a hub into the cache that transformers shares.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/model_verb.h"
#include "cli/object_progress.h"
#include "cli/options.h"
#include "data/model_catalogue.h"
#include "hub/pull.h"
#include "job/hub_cache.h"
#include "job/model_folder.h"

namespace assay::cli {
namespace {

struct PullOptions {
  std::string model;
  std::string revision = "main";
  std::vector<std::string> endpoints;
  std::vector<std::string> patterns;
  std::string cache;
  std::string output;
};

/// A name of the catalogue stands for its repository; any other is one.
Result<std::string> RepositoryOf(const std::string& model) {
  const auto models = data::ModelCatalogue();
  const auto found = std::ranges::find(models, model, &data::CatalogueModel::name);
  if (found == models.end()) {
    return model;
  }
  if (found->repository.empty()) {
    return Status::Unsupported(
        fmt::format("no repository of a hub is known for {}; give its own name there, ORG/NAME", model));
  }
  return std::string(found->repository);
}

Result<hub::PullResult> PullWithProgress(const std::string& repository, const PullOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(hub::HubPlace place, hub::PlaceFromEnvironment(options.endpoints));
  hub::HubClient client(std::move(place));
  TransferProgress progress("pull");
  const hub::PullObserver observer = {
      .on_total = [&](int64_t bytes, int64_t files) { progress.SetTotal(bytes, files); },
      .on_bytes = [&](int64_t bytes) { progress.AddBytes(bytes); },
      .on_file = [&] { progress.AddObject(); },
      .on_note = [&](const std::string& line) { progress.Print(line); },
  };
  return hub::Pull(
      client,
      {.repository = repository, .revision = options.revision, .cache = options.cache, .patterns = options.patterns},
      observer);
}

nlohmann::json JsonOf(const std::string& repository, const hub::PullResult& pulled) {
  nlohmann::json files = nlohmann::json::array();
  for (const hub::HubFile& file : pulled.files) {
    files.push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.blob}});
  }
  return {{"repository", repository}, {"commit", pulled.commit}, {"folder", pulled.folder},
          {"bytes", pulled.bytes},    {"files", files},          {"received_bytes", pulled.received_bytes}};
}

Status Run(const PullOptions& options) {
  if (const std::string offline = EnvironmentText("HF_HUB_OFFLINE"); !offline.empty() && offline != "0") {
    return Status::FailedPrecondition("HF_HUB_OFFLINE is set: nothing is fetched");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string repository, RepositoryOf(options.model));
  const double begin = MonotonicSeconds();
  ASSAY_ASSIGN_OR_RETURN(const hub::PullResult pulled, PullWithProgress(repository, options));
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(JsonOf(repository, pulled)));
    return Status::Ok();
  }
  const std::string came =
      pulled.received_bytes == 0 ? "all of it was here" : RateText(pulled.received_bytes, MonotonicSeconds() - begin);
  fmt::print("{} ({}): {} files, {}; {}\n{}\n", repository, pulled.commit, pulled.files.size(),
             FormatBytes(static_cast<double>(pulled.bytes)), came, pulled.folder);
  if (const auto weights = job::FindWeights(pulled.folder); !weights.ok()) {
    fmt::print(stderr, "note: {}\n", weights.status().message());
  }
  return Status::Ok();
}

}  // namespace

Action AddModelPull(CLI::App& app) {
  auto options = std::make_shared<PullOptions>();
  options->cache = job::HubCacheDirectory();
  app.add_option("MODEL", options->model, "A name of assay model list, or ORG/NAME of the hub")->required();
  app.add_option("--revision", options->revision, "A branch, a tag or a commit")->capture_default_str();
  app.add_option("--endpoint", options->endpoints,
                 "The hub's address, and those of mirrors that are asked where it does not answer [$HF_ENDPOINT, else "
                 "https://huggingface.co]. The token ($HF_TOKEN, or the file that huggingface-cli login wrote) goes to "
                 "the first alone")
      ->type_name("URL")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--include", options->patterns,
                 "Files of the repository that match one of these [configuration, tokeniser and weights]")
      ->type_name("GLOB")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--cache", options->cache, "Where it is kept [$HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub]")
      ->type_name("DIR");
  AddOutputOption(app, options->output, {"table", "json"});
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
