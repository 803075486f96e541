// What was measured here beside what others published of the same points.
#pragma once

#include <string>
#include <vector>

#include "experiment/presentation.h"
#include "report/result_set.h"

namespace assay::report {

/// A table of the page.
struct PublishedTable {
  std::string title;
  std::vector<std::vector<std::string>> rows;  ///< the first cell names the row
};

/// The rows of `published` with their columns of ours, once for each set of all other coordinates (machine,
/// commit, ranks, precision, ...) under which a point of a row was measured: its title ends with them, and nothing in
/// it was measured otherwise. Dashes where there is no value. One table without values where no row was measured.
std::vector<PublishedTable> BesidePublished(const ResultSet& results, const experiment::PublishedFigures& published);

}  // namespace assay::report
