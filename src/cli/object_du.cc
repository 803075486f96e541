// assay object du: how many objects and bytes are under a prefix, and below each of the prefixes in it.
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct DuOptions {
  StoreFlags store;
  std::string uri;
  int depth = 1;
  bool human = false;
  std::string output;
};

struct Usage {
  int64_t objects = 0;
  int64_t bytes = 0;
  void Add(int64_t size) {
    ++objects;
    bytes += size;
  }
};

/// Sums of all prefixes down to a depth: "a/" and "a/b/" both count what is in "a/b/".
class UsageTree {
 public:
  UsageTree(size_t folder_bytes, int depth) : folder_bytes_(folder_bytes), depth_(depth) {}

  void Add(const storage::ObjectInfo& info) {
    total_.Add(info.size);
    size_t slash = folder_bytes_;
    for (int level = 0; level < depth_ && (slash = info.key.find('/', slash)) != std::string::npos; ++level) {
      ++slash;
      const auto found = below_.find(std::string_view(info.key).substr(0, slash));
      (found == below_.end() ? below_[info.key.substr(0, slash)] : found->second).Add(info.size);
    }
  }
  const Usage& total() const { return total_; }
  const std::map<std::string, Usage, std::less<>>& below() const { return below_; }

 private:
  const size_t folder_bytes_;  // of the part of keys before the first level
  const int depth_;
  Usage total_;
  std::map<std::string, Usage, std::less<>> below_;
};

nlohmann::json UsageJson(const std::string& uri, const Usage& usage) {
  return {{"uri", uri}, {"objects", usage.objects}, {"bytes", usage.bytes}};
}

void Print(const DuOptions& options, const ObjectPlace& place, const UsageTree& tree) {
  const std::string uri = place.store->Uri(place.key);
  if (options.output == "json") {
    nlohmann::json json = UsageJson(uri, tree.total());
    json["prefixes"] = nlohmann::json::array();
    for (const auto& [prefix, usage] : tree.below()) {
      json["prefixes"].push_back(UsageJson(place.store->Uri(prefix), usage));
    }
    fmt::print("{}", DumpJsonPretty(json));
    return;
  }
  const auto add_row = [&options](TextTable& table, const Usage& usage, const std::string& name) {
    table.AddRow({options.human ? FormatBytes(static_cast<double>(usage.bytes)) : std::to_string(usage.bytes),
                  std::to_string(usage.objects), Escaped(name)});
  };
  TextTable table({"bytes", "objects", "under"});
  for (const auto& [prefix, usage] : tree.below()) {
    add_row(table, usage, place.store->Uri(prefix));
  }
  add_row(table, tree.total(), uri);
  fmt::print("{}", table.Render());
}

Status Run(const DuOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  const InterruptFlag interrupt;
  UsageTree tree(place.key.rfind('/') + 1, options.depth);
  storage::ListOptions list;
  list.prefix = place.key;
  list.cancel = interrupt.get();
  ASSAY_RETURN_IF_ERROR(
      storage::ListInParallel(*place.store, list, {.ordered = false}, [&](const storage::ListPage& page) {
        for (const storage::ObjectInfo& info : page.objects) {
          tree.Add(info);
        }
        return storage::IsCancelled(interrupt.get()) ? storage::CancelledStatus("list", place.uri) : Status::Ok();
      }));
  if (tree.total().objects == 0 && !place.key.empty()) {
    return Status::NotFound(fmt::format("nothing is under {}", place.store->Uri(place.key)));
  }
  Print(options, place, tree);
  return Status::Ok();
}

}  // namespace

Action AddObjectDu(CLI::App& app) {
  constexpr int kDeepest = 1024;
  auto options = std::make_shared<DuOptions>();
  app.add_option("uri", options->uri, "Bucket, prefix or folder")->required();
  app.add_option("-d,--depth", options->depth, "Levels of prefixes that have a line of their own; 0: the total alone")
      ->check(WholeNumber(0, kDeepest))
      ->capture_default_str();
  app.add_flag("--human-readable", options->human, "Sizes as 1.50 GiB");
  AddOutputOption(app, options->output, {"table", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return Run(*options); }); };
}

}  // namespace assay::cli
