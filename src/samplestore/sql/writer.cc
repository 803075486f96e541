#include "samplestore/sql/writer.h"

#include <fmt/format.h>

#include <utility>

#include "samplestore/sql/record.h"

namespace assay::samplestore {

Prepared::Prepared(std::span<const Measurement> all) : measurements(all) {
  for (const Measurement& measurement : all) {
    descriptions.push_back(DescriptionOf(measurement));
    found_by.push_back(FoundBy(measurement));
  }
}

bool Writer::KnowsTerms(const Prepared& prepared) const {
  for (size_t i = 0; i < prepared.measurements.size(); ++i) {
    if (!dictionary_.Knows(prepared.descriptions[i]) || !dictionary_.Knows(prepared.found_by[i])) {
      return false;
    }
  }
  return true;
}

Status Writer::AddTerms(const Prepared& prepared) {
  std::vector<Term> terms;
  for (const auto* lists : {&prepared.descriptions, &prepared.found_by}) {
    for (const std::vector<Term>& list : *lists) {
      terms.insert(terms.end(), list.begin(), list.end());
    }
  }
  return dictionary_.Add(terms);
}

Status Writer::Write(const Prepared& prepared, Arrivals arrivals) {
  for (size_t first = 0; first < prepared.measurements.size();) {
    const size_t count = RowsAtOnce(prepared.measurements.size() - first);
    const auto measurements = prepared.measurements.subspan(first, count);
    ASSAY_ASSIGN_OR_RETURN(const Points points, FindOrMakePoints(measurements));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, InsertMeasurements(measurements, points, arrivals));
    ASSAY_RETURN_IF_ERROR(InsertContents(prepared, first, numbers));
    ASSAY_RETURN_IF_ERROR(InsertPostings(prepared, first, numbers));
    first += count;
  }
  return Status::Ok();
}

Result<Writer::Points> Writer::FindOrMakePoints(std::span<const Measurement> measurements) {
  Points points;
  std::map<std::pair<std::string, std::string>, const Measurement*> wanted;
  for (const Measurement& measurement : measurements) {
    wanted.emplace(std::pair(measurement.entity_id, measurement.parameterized_id), &measurement);
  }
  // In the order of their keys, so that two writers never wait for each other's.
  for (const auto& [key, measurement] : wanted) {
    ASSAY_ASSIGN_OR_RETURN(points[key], FindOrMakePoint(*measurement));
  }
  return points;
}

Result<int64_t> Writer::FindOrMakePoint(const Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr insert,
      connection_.Prepare("INSERT INTO points(experiment, parameterized_id, entity_id) VALUES (?, ?, ?) ON CONFLICT "
                          "(entity_id, parameterized_id) DO NOTHING RETURNING id"));
  insert->Bind(measurement.experiment).Bind(measurement.parameterized_id).Bind(measurement.entity_id);
  ASSAY_ASSIGN_OR_RETURN(const bool added, insert->Step());
  if (added) {
    const int64_t id = insert->Integer(0);
    ASSAY_RETURN_IF_ERROR(insert->Run());
    return id;
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr select,
                         connection_.Prepare("SELECT id FROM points WHERE entity_id = ? AND parameterized_id = ?"));
  ASSAY_RETURN_IF_ERROR(select->Bind(measurement.entity_id).Bind(measurement.parameterized_id).Step().status());
  return select->Integer(0);
}

Result<std::vector<int64_t>> Writer::InsertMeasurements(std::span<const Measurement> measurements, const Points& points,
                                                        Arrivals arrivals) {
  const bool given = arrivals == Arrivals::kGiven;
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr insert,
                         connection_.Prepare(fmt::format(
                             "INSERT INTO measurements({}uid, point_id, outcome, measured_at) VALUES {} RETURNING "
                             "arrival, uid",
                             given ? "arrival, " : "", RowsOfParameters(measurements.size(), given ? 5 : 4))));
  std::map<std::string_view, size_t> places;
  for (const Measurement& measurement : measurements) {
    places.emplace(measurement.uid, places.size());
    if (given) {
      insert->Bind(measurement.arrival);
    }
    insert->Bind(measurement.uid).Bind(points.at({measurement.entity_id, measurement.parameterized_id}));
    insert->Bind(ToString(measurement.outcome)).Bind(measurement.measured_at);
  }
  std::vector<int64_t> numbers(measurements.size());
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, insert->Step());
    if (more) {
      numbers[places.at(insert->Text(1))] = insert->Integer(0);
    }
  }
  return numbers;
}

Status Writer::InsertContents(const Prepared& prepared, size_t first, std::span<const int64_t> arrivals) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr insert,
      connection_.Prepare("INSERT INTO contents(arrival, reason, terms, target_values, series_lengths, "
                          "series_float64_le) VALUES " +
                          RowsOfParameters(arrivals.size(), 6)));
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const Measurement& measurement = prepared.measurements[first + i];
    std::vector<int64_t> ids;
    for (const Term& term : prepared.descriptions[first + i]) {
      ids.push_back(dictionary_.IdOf(term));
    }
    const PackedSeries series = PackSeries(measurement);
    insert->Bind(arrivals[i]).Bind(CleanText(measurement.reason)).Bind(IdsText(ids)).Bind(ValuesText(measurement));
    insert->Bind(series.lengths).BindBytes(series.bytes);
  }
  return insert->Run();
}

Status Writer::InsertPostings(const Prepared& prepared, size_t first, std::span<const int64_t> arrivals) {
  std::vector<std::pair<int64_t, int64_t>> postings;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    for (const Term& term : prepared.found_by[first + i]) {
      postings.emplace_back(dictionary_.IdOf(term), arrivals[i]);
    }
  }
  for (size_t begin = 0; begin < postings.size();) {
    const size_t count = RowsAtOnce(postings.size() - begin);
    ASSAY_ASSIGN_OR_RETURN(
        const StatementPtr insert,
        connection_.Prepare("INSERT INTO postings(term_id, arrival) VALUES " + RowsOfParameters(count, 2)));
    for (size_t i = begin; i < begin + count; ++i) {
      insert->Bind(postings[i].first).Bind(postings[i].second);
    }
    ASSAY_RETURN_IF_ERROR(insert->Run());
    begin += count;
  }
  return Status::Ok();
}

}  // namespace assay::samplestore
