#include "cli/operation_options.h"

#include <fmt/format.h>

namespace assay::cli {
namespace {

/// Why an option does not count beside an operation; nullptr: it does.
struct Beside {
  const char* option;
  const char* walk;
  const char* characterization;
};

constexpr char kAllPoints[] = "a characterization goes through all points of the space";

constexpr Beside kOptions[] = {
    {"--sampler", "the file's samplerConfig says it", kAllPoints},
    {"--budget", "the file's numberEntities says it", kAllPoints},
    {"--patience", "a walk goes through the entities that its file asks for", kAllPoints},
    {"--seed", nullptr, kAllPoints},
    {"--metric", nullptr, "a characterization looks for no best; --end-early-by says by what runs end early"},
    {"--workers", "the file's batchSize says it", nullptr},
    {"--retries", "the file's maxRetries says it", nullptr},
    {"--again", "the file's singleMeasurement says it", nullptr},
};

}  // namespace

Status CheckOptionsBeside(const explore::OperationFile& file, const CLI::App& app) {
  for (const Beside& row : kOptions) {
    const char* const reason = file.characterization ? row.characterization : row.walk;
    if (reason != nullptr && app.get_option(row.option)->count() > 0) {
      return Status::InvalidArgument(fmt::format("{} does not count beside {}: {}", row.option, file.source, reason));
    }
  }
  return Status::Ok();
}

}  // namespace assay::cli
