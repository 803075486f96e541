// The experiential criteria of the connector test: what a table can say of each connector before anything is measured.
#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

/// Each as its documentation and its sources say, in the releases that tools/requirements-*.txt pin.
struct Criteria {
  const char* connector;
  const char* ease;         ///< from rows to a first training step
  const char* switching;    ///< what a user changes for another store
  const char* flexibility;  ///< of text, numbers, bytes, images, arrays, JSON, missing values
  const char* trainers;
  const char* stores;
  const char* documentation;  ///< of the steps of the test
};

constexpr Criteria kCriteria[] = {
    {"assay", "2 commands: data convert, tune", "the URI", "all; a column that misses some values is JSON",
     "its own: full, LoRA, prompts; language models and ViT", "folders, S3, GCS, OCI", "1 to 6, and a resume"},
    {"assay-copy", "3 commands: data convert, object cp, tune", "the URI", "the same", "the same", "the same",
     "1 to 6, and a resume"},
    {"streaming", "a script: a writer, a data set, a trainer",
     "the URI; credentials as that store's own tools have them", "all but missing values",
     "any that takes a PyTorch data set", "folders, S3, GCS, OCI, Azure, Hugging Face", "1, 2, 5"},
    {"litdata", "a script: optimize, a data set, a trainer", "the URI; OCI by its S3 interface alone",
     "all; missing values as Python's own", "any that takes a PyTorch data set",
     "folders, S3, GCS, Azure, Hugging Face", "1, 2, 5"},
    {"fsspec", "a script: all but opening a file", "the URI, and the package of that store",
     "bytes: the rest is the user's", "any: it knows none", "folders, S3, GCS, OCI (ocifs), Azure, and more", "none"},
    {"s3torchconnector", "a script: a transform, a data set, a trainer", "not possible: S3 alone",
     "bytes: the rest is the user's", "any that takes a PyTorch data set; Lightning's and DCP's checkpoints", "S3",
     "5, and checkpoints of 6"},
};

}  // namespace

PublishedFigures ConnectorCriteria() {
  PublishedFigures figures{
      .title = "Connectors by the experiential criteria of the test",
      .note =
          "Ease of use, flexibility, integration and documentation as the libraries' own documentation and sources "
          "have them; the last two columns are measured here. Popularity is left out: no dated figures stand here.",
      .columns = {"connector", "to a first step", "another store", "carries", "trainers", "stores",
                  "steps that its documentation covers", "s to the first step", "s after a resume"}};
  for (const Criteria& row : kCriteria) {
    figures.rows.push_back({.point = {{"connector", std::string(row.connector)}},
                            .cells = {row.connector, row.ease, row.switching, row.flexibility, row.trainers, row.stores,
                                      row.documentation}});
  }
  figures.own = {{.target = "time_to_first_step"}, {.target = "resumed_time_to_first_step"}};
  return figures;
}

}  // namespace assay::experiment
