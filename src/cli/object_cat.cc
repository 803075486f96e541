// assay object cat: an object, or a range of it, to standard output.
#include <cstdint>
#include <memory>
#include <string>

#include "cli/object_options.h"
#include "cli/object_output.h"
#include "cli/object_verb.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct CatOptions {
  StoreFlags store;
  std::string uri;
  int64_t offset = 0;
  int64_t length = -1;
};

Status Run(const CatOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  return PrintObject(place, options.offset, options.length);
}

}  // namespace

Action AddObjectCat(CLI::App& app) {
  auto options = std::make_shared<CatOptions>();
  app.add_option("uri", options->uri, "The object")->required();
  app.add_option("--offset", options->offset, "First byte")->check(NotNegative())->capture_default_str();
  app.add_option("--length", options->length, "Bytes [to the end]")->check(NotNegative());
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
