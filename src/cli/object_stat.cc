// assay object stat: what the store says of one object.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/object_options.h"
#include "cli/object_text.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct StatOptions {
  StoreFlags store;
  std::string uri;
  std::string output;
};

Status Run(const StatOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const storage::ObjectInfo info,
                         storage::StatExisting(*place.store, place.key, "stat", interrupt.get()));
  const nlohmann::json json = ObjectJson(place.store->Uri(place.key), info);
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(json));
    return Status::Ok();
  }
  TextTable table({"object", Escaped(json["uri"].get<std::string>())});
  for (const auto& [name, value] : json.items()) {
    if (name != "uri" && name != "key") {
      table.AddRow({name, value.is_string() ? Escaped(value.get<std::string>()) : DumpJson(value)});
    }
  }
  fmt::print("{}", table.Render());
  return Status::Ok();
}

}  // namespace

Action AddObjectStat(CLI::App& app) {
  auto options = std::make_shared<StatOptions>();
  app.add_option("uri", options->uri, "The object")->required();
  AddOutputOption(app, options->output, {"table", "json"});
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
