#include "samplestore/sql/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "samplestore/sql/query.h"
#include "samplestore/sql/record.h"

namespace assay::samplestore {
namespace {

/// What a row says of itself without its contents.
constexpr char kRowColumns[] =
    "m.arrival, m.uid, p.experiment, p.parameterized_id, p.entity_id, m.outcome, m.measured_at";
constexpr char kRowTables[] = "JOIN measurements AS m ON m.arrival = s.arrival JOIN points AS p ON p.id = m.point_id";
constexpr char kContents[] = " JOIN contents AS c ON c.arrival = s.arrival";

Result<MeasurementRow> TakeRow(const Statement& rows) {
  ASSAY_ASSIGN_OR_RETURN(const Outcome outcome, OutcomeFromString(rows.Text(5)));
  const auto text = [&](int column) { return std::string(rows.Text(column)); };
  return MeasurementRow{rows.Integer(0), text(1), text(2), text(3), text(4), outcome, text(6), {}};
}

/// Without its description.
Measurement MeasurementOf(MeasurementRow row, std::string_view reason) {
  Measurement measurement;
  measurement.arrival = row.arrival;
  measurement.uid = std::move(row.uid);
  measurement.experiment = std::move(row.experiment);
  measurement.parameterized_id = std::move(row.parameterized_id);
  measurement.entity_id = std::move(row.entity_id);
  measurement.outcome = row.outcome;
  measurement.measured_at = std::move(row.measured_at);
  measurement.reason = reason;
  return measurement;
}

std::string OrderOf(const MeasurementFilter& filter) {
  return filter.newest_first ? " ORDER BY s.arrival DESC" : " ORDER BY s.arrival";
}

bool Holds(bool is_invalid, const Facts& depends_on, const Facts& here) {
  return (!is_invalid || SaysWhatJudged(depends_on)) && Agrees(depends_on, here);
}

}  // namespace

Result<StatementPtr> Reader::Select(const std::string& select, const std::string& from, const MeasurementFilter& filter,
                                    int64_t page_end) {
  ASSAY_ASSIGN_OR_RETURN(const ArrivalQuery query, QueryOf(filter, page_end, connection_, dictionary_));
  ASSAY_ASSIGN_OR_RETURN(StatementPtr statement,
                         connection_.Prepare(fmt::format("SELECT {} FROM ({}{}{}) AS s {}", select, query.unordered,
                                                         query.order, query.limit, from)));
  query.BindTo(*statement);
  return statement;
}

Result<int64_t> Reader::Count(const MeasurementFilter& filter) {
  ASSAY_ASSIGN_OR_RETURN(const ArrivalQuery query, QueryOf(filter, 0, connection_, dictionary_));
  // In no order: then any index will do, of which the narrowest is gone through at 200 million rows a second.
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr count, connection_.Prepare(fmt::format("SELECT count(*) FROM ({}{}) AS s",
                                                                                   query.unordered, query.limit)));
  query.BindTo(*count);
  ASSAY_RETURN_IF_ERROR(count->Step().status());
  return count->Integer(0);
}

Result<std::vector<int64_t>> Reader::Arrivals(const MeasurementFilter& filter) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr rows, Select("s.arrival", "", filter));
  std::vector<int64_t> arrivals;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
    if (more) {
      arrivals.push_back(rows->Integer(0));
    }
  }
  return arrivals;
}

Result<std::vector<KnownTerm*>> Reader::TermsOf(std::string_view text) {
  const std::vector<int64_t> ids = IdsFromText(text);
  ASSAY_RETURN_IF_ERROR(dictionary_.Load(ids));
  std::vector<KnownTerm*> terms;
  for (const int64_t id : ids) {
    terms.push_back(&dictionary_.At(id));
  }
  return terms;
}

Result<std::vector<MeasurementRow>> Reader::Rows(const MeasurementFilter& filter,
                                                 const std::vector<std::string>& columns) {
  std::string select = kRowColumns;
  std::string from = kRowTables;
  if (!columns.empty()) {
    select += ", c.terms, c.target_values";
    from += kContents;
  }
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr rows, Select(select, from + OrderOf(filter), filter));
  std::vector<MeasurementRow> list;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
    if (more) {
      ASSAY_ASSIGN_OR_RETURN(MeasurementRow row, TakeRow(*rows));
      if (!columns.empty()) {
        ASSAY_RETURN_IF_ERROR(AddValues(rows->Text(7), rows->Text(8), columns, row));
      }
      list.push_back(std::move(row));
    }
  }
  return list;
}

Status Reader::AddValues(std::string_view terms, std::string_view values, const std::vector<std::string>& columns,
                         MeasurementRow& row) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<KnownTerm*> description, TermsOf(terms));
  std::erase_if(description, [](const KnownTerm* known) {
    return known->term.kind != TermKind::kEntity && known->term.kind != TermKind::kTargets;
  });
  Measurement measurement;
  ASSAY_RETURN_IF_ERROR(Describe(description, values, connection_.name(), measurement));
  for (const std::string& name : columns) {
    const auto constitutive = measurement.entity.find(name);
    if (constitutive != measurement.entity.end()) {
      row.values.push_back(constitutive->second);
      continue;
    }
    const auto target = measurement.properties.find(name);
    row.values.push_back(target == measurement.properties.end() ? space::Value() : target->second);
  }
  return Status::Ok();
}

Result<std::vector<Measurement>> Reader::Measurements(const MeasurementFilter& filter, bool with_series,
                                                      int64_t page_end) {
  const std::string select = fmt::format("{}, c.reason, c.terms, c.target_values{}", kRowColumns,
                                         with_series ? ", c.series_lengths, c.series_float64_le" : "");
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr rows,
                         Select(select, kRowTables + std::string(kContents) + OrderOf(filter), filter, page_end));
  std::vector<Measurement> list;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, rows->Step());
    if (!more) {
      break;
    }
    ASSAY_ASSIGN_OR_RETURN(MeasurementRow row, TakeRow(*rows));
    Measurement measurement = MeasurementOf(std::move(row), rows->Text(7));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<KnownTerm*> terms, TermsOf(rows->Text(8)));
    ASSAY_RETURN_IF_ERROR(Describe(terms, rows->Text(9), connection_.name(), measurement));
    if (with_series) {
      ASSAY_RETURN_IF_ERROR(UnpackSeries(rows->Text(10), rows->Bytes(11), connection_.name(), measurement));
    }
    list.push_back(std::move(measurement));
  }
  return list;
}

Result<std::optional<Measurement>> Reader::Read(int64_t arrival) {
  // Arrivals begin with 1, so that one before it may be named.
  ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> found,
                         Measurements({.before = arrival + 1, .newest_first = true, .limit = 1}, true));
  if (arrival == 0 || found.empty() || found.front().arrival != arrival) {
    return std::optional<Measurement>();
  }
  return std::optional<Measurement>(std::move(found.front()));
}

Result<Facts> Reader::DependenciesOf(std::string_view terms) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<KnownTerm*> description, TermsOf(terms));
  Facts depends_on;
  for (const KnownTerm* known : description) {
    if (known->term.kind == TermKind::kDependency) {
      depends_on[known->term.name] = known->term.value;
    }
  }
  return depends_on;
}

Result<Known> Reader::FindKnown(const MemoKey& key, const Facts& here) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr select,
      connection_.Prepare(
          "SELECT m.arrival, m.outcome, c.terms FROM points AS p JOIN measurements AS m ON m.point_id = p.id JOIN "
          "contents AS c ON c.arrival = m.arrival WHERE p.entity_id = ? AND p.parameterized_id = ? AND m.outcome <> "
          "'failed' ORDER BY m.arrival"));
  select->Bind(key.entity_id).Bind(key.parameterized_id);
  Known known;
  for (bool more = true; more;) {
    ASSAY_ASSIGN_OR_RETURN(more, select->Step());
    if (!more) {
      break;
    }
    const bool is_invalid = select->Text(1) == ToString(Outcome::kInvalid);
    ASSAY_ASSIGN_OR_RETURN(const Facts depends_on, DependenciesOf(select->Text(2)));
    if (Holds(is_invalid, depends_on, here)) {
      known = {select->Integer(0), is_invalid, known.valid + (is_invalid ? 0 : 1)};
    }
  }
  return known;
}

Result<int64_t> Reader::Newest(const MemoKey& key) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr select,
      connection_.Prepare("SELECT m.arrival FROM points AS p JOIN measurements AS m ON m.point_id = p.id WHERE "
                          "p.entity_id = ? AND p.parameterized_id = ? ORDER BY m.arrival DESC LIMIT 1"));
  ASSAY_ASSIGN_OR_RETURN(const bool found, select->Bind(key.entity_id).Bind(key.parameterized_id).Step());
  return found ? select->Integer(0) : 0;
}

}  // namespace assay::samplestore
