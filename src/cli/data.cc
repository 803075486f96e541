// assay data: data sets as shards, in folders and buckets. One file a verb below it.
#include <string>
#include <utility>
#include <vector>

#include "cli/data_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

struct DataVerb {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

constexpr DataVerb kDataVerbs[] = {
    {"convert", "Make a data set of shards out of files of rows", &AddDataConvert},
    {"inspect", "Print what is in a data set of shards", &AddDataInspect},
    {"verify", "Read a data set and say whether it is whole", &AddDataVerify},
    {"count", "Count the objects and bytes under a prefix, and time the listing", &AddDataCount},
    {"cat", "Print samples as they stand, as lines of JSON", &AddDataCat},
    {"read", "Print samples in the order of a training, and go on where it stopped", &AddDataRead},
    {"order", "Print which samples a rank has, in their order", &AddDataOrder},
    {"bench", "Measure how fast samples come", &AddDataBench},
};

}  // namespace

Action AddData(CLI::App& app) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> verbs;
  for (const DataVerb& verb : kDataVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    verbs.emplace_back(sub, verb.add(*sub));
  }
  return [verbs = std::move(verbs)] {
    for (const auto& [sub, action] : verbs) {
      if (sub->parsed()) {
        return action();
      }
    }
    return Status::InvalidArgument("which verb? (see assay data --help)");
  };
}

}  // namespace assay::cli
