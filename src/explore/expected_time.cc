#include "explore/expected_time.h"

#include <vector>

#include "measure/statistics.h"
#include "space/number.h"

namespace assay::explore {

Result<std::optional<ExpectedTime>> ExpectTime(const experiment::BoundSpace& space, samplestore::SampleStore& store) {
  std::vector<double> seconds;
  for (size_t i = 0; i < space.experiments().size(); ++i) {
    const experiment::Experiment* experiment = space.experiments()[i];
    for (const auto* target : TargetsOf({&experiment, 1}, experiment::Quantity::kRuntime)) {
      ASSAY_ASSIGN_OR_RETURN(const auto rows,
                             store.ListRows({.parameterized_id = space.parameterized_id(static_cast<int64_t>(i)),
                                             .outcome = samplestore::Outcome::kValid},
                                            {target->name}));
      for (const samplestore::MeasurementRow& row : rows) {
        if (const std::optional<double> time = space::NumberOf(row.values.front())) {
          seconds.push_back(*time);
        }
      }
    }
  }
  return seconds.empty() ? std::optional<ExpectedTime>()
                         : std::optional(ExpectedTime{measure::Median(seconds), std::ssize(seconds)});
}

}  // namespace assay::explore
