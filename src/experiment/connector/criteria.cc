// The experiential criteria of the connector test: what a table can say of each connector before anything is measured.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

constexpr size_t kFaultCount = 5;

/// What tests/shards/connector_criteria.py found by running a connector's program of examples/connector/first.
struct Found {
  const char* connector;
  int commands;         ///< from rows to a first batch, where the connector stands
  int lines;            ///< that a user writes in Python for it
  int lines_to_switch;  ///< that another store changes; -1: the connector cannot
  int pypi_rank;        ///< of share/connectors/popularity.yaml; -1: not there
  const char* carries;
  const char* errors[kFaultCount];  ///< what each of kFaults ends with
};

#include "experiment/connector/criteria_found.inc"

static_assert(std::size(kFaults) == kFaultCount);

/// What no program can find: as documentation and sources say in the releases that tools/requirements-*.txt pin.
struct Read {
  const char* connector;
  const char* trainers;
  const char* stores;
  const char* documentation;  ///< of the steps of the test
};

constexpr Read kRead[] = {
    {"assay", "its own: full, LoRA, prompts; language models and ViT", "folders, S3, GCS, OCI", "1 to 6, and a resume"},
    {"streaming", "any that takes a PyTorch data set; tested: transformers.Trainer",
     "folders, S3, GCS, OCI, Azure, Hugging Face; tested: folders, S3", "1, 2, 5"},
    {"litdata", "any that takes a PyTorch data set; tested: transformers.Trainer",
     "folders, S3, GCS, Azure, Hugging Face; tested: folders, S3", "1, 2, 5"},
    {"fsspec", "any: it knows none; tested: transformers.Trainer",
     "folders, S3, GCS, OCI (ocifs), Azure, and more; tested: folders, S3", "none"},
    {"s3torchconnector", "any that takes a PyTorch data set, Lightning, DCP; tested: transformers.Trainer",
     "S3; tested", "5, and checkpoints of 6"},
};

/// assay-copy is assay with one command more.
template <typename Rows>
const auto& RowOf(const Rows& rows, std::string_view connector) {
  const std::string_view name = connector == "assay-copy" ? "assay" : connector;
  return *std::ranges::find_if(rows, [&](const auto& row) { return row.connector == name; });
}

std::string EaseOf(const Found& found, bool copies_first) {
  const int commands = found.commands + (copies_first ? 1 : 0);
  const std::string told = fmt::format("{} command{}", commands, commands == 1 ? "" : "s");
  return found.lines == 0 ? told : fmt::format("{}, {} lines of Python", told, found.lines);
}

std::string SwitchOf(const Found& found) {
  return found.lines_to_switch < 0 ? "not possible" : fmt::format("{}: the URI", found.lines_to_switch);
}

PublishedFigures Criteria() {
  PublishedFigures figures{
      .title = "Connectors by the experiential criteria of the test",
      .note = fmt::format(
          "Found by running each connector's program of examples/connector/first in a folder and against the embedded "
          "server: commands from where it is installed to a first batch (of assay: to its first four rows, printed), "
          "lines that a user writes, lines that another store changes, and which types of values come back as they "
          "were written, without code of the user's. "
          "Popularity: the rank among the most downloaded packages of PyPI, {}. Trainers, stores and documentation as "
          "the libraries' own sources have them, but what is said to be tested. The last two columns are measured "
          "here, from when the process of the fine-tune was started.",
          kPopularityAsOf),
      .columns = {"connector", "to a first batch", "lines for another store", "carries", "trainers", "stores",
                  "rank on PyPI", "steps that its documentation covers", "s to the first step", "s after a resume"}};
  for (const ConnectorInfo& connector : Connectors()) {
    const Found& found = RowOf(kFound, connector.name);
    const Read& read = RowOf(kRead, connector.name);
    const bool copies_first = connector.name == std::string_view("assay-copy");
    figures.rows.push_back(
        {.point = {{"connector", std::string(connector.name)}},
         .cells = {connector.name, EaseOf(found, copies_first), SwitchOf(found), found.carries, read.trainers,
                   read.stores, found.pypi_rank < 0 ? "not there" : fmt::format("{}", found.pypi_rank),
                   read.documentation}});
  }
  figures.own = {{.target = "time_to_first_step"}, {.target = "resumed_time_to_first_step"}};
  return figures;
}

/// A row a fault, so that texts stand below each other.
PublishedFigures CommonestErrors() {
  PublishedFigures figures{
      .title = "What connectors say when something is wrong",
      .note =
          "The text with which each connector's program of examples/connector/first ended, run against the embedded "
          "server: its beginning, of a traceback its end; URL, FILE, ID, ADDRESS and TIME stand for what is of one "
          "run. Lines of JSON, in which the programs of fsspec and s3torchconnector write rows, do not tell that "
          "some are missing.",
      .columns = {"what happened"}};
  for (const Found& found : kFound) {
    figures.columns.emplace_back(found.connector);
  }
  for (size_t fault = 0; fault < kFaultCount; ++fault) {
    PublishedRow row{.point = {}, .cells = {kFaults[fault]}};
    for (const Found& found : kFound) {
      row.cells.emplace_back(found.errors[fault]);
    }
    figures.rows.push_back(std::move(row));
  }
  return figures;
}

}  // namespace

std::vector<PublishedFigures> ConnectorCriteria() {
  return {Criteria(), CommonestErrors()};
}

}  // namespace assay::experiment
