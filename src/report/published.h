// What was measured here beside what others published of the same points.
#pragma once

#include <string>
#include <vector>

#include "report/html_report.h"
#include "report/result_set.h"
#include "space/entity.h"

namespace assay::report {

/// A row that somebody published, and the point that it was measured at.
struct PublishedRow {
  space::Entity point;             ///< the properties by which ours is found
  std::vector<std::string> cells;  ///< the first names the row
};

/// A column of ours: the mean of a target over a configuration's runs, times `factor`.
struct OwnColumn {
  std::string property;
  double factor = 1;
};

/// `frame`, whose columns are those of `rows` and then of `own`, once for each set of all other coordinates (machine,
/// commit, ranks, precision, ...) under which a point of a row was measured: its title ends with them, and nothing in
/// it was measured otherwise. Dashes where there is no value. One table without values where no row was measured.
std::vector<PublishedTable> BesidePublished(const ResultSet& results, const PublishedTable& frame,
                                            const std::vector<PublishedRow>& rows, const std::vector<OwnColumn>& own);

}  // namespace assay::report
