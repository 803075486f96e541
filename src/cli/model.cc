// assay model: models by name, and what brings them here. One file a verb below it.
#include "cli/model_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

constexpr Verb kModelVerbs[] = {
    {"list", "List the named models", &AddModelList},
    {"pull", "Fetch a model from a hub, into the cache of Hugging Face", &AddModelPull},
};

}  // namespace

Action AddModel(CLI::App& app) {
  return AddVerbs(app, kModelVerbs);
}

}  // namespace assay::cli
