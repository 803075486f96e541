#include "samplestore/sql/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "samplestore/sql/record.h"

namespace assay::samplestore {
namespace {

std::vector<Term> TermsOf(const MeasurementFilter& filter) {
  std::vector<Term> terms;
  const auto add = [&](TermKind kind, const std::string& name, std::string value) {
    terms.push_back({kind, name, std::move(value)});
  };
  if (!filter.experiment.empty()) {
    add(TermKind::kExperiment, "", filter.experiment);
  }
  if (!filter.parameterized_id.empty()) {
    add(TermKind::kParameterized, "", filter.parameterized_id);
  }
  if (filter.outcome) {
    add(TermKind::kOutcome, "", std::string(ToString(*filter.outcome)));
  }
  for (const auto& [name, value] : filter.entity) {
    add(TermKind::kEntity, name, ValueText(value));
  }
  for (const auto& [name, text] : filter.found_by) {
    add(TermKind::kProvenance, name, text);
  }
  return terms;
}

/// Enough to tell a rare term from a common one.
Result<int64_t> Bearers(int64_t term, Connection& connection) {
  ASSAY_ASSIGN_OR_RETURN(
      const StatementPtr count,
      connection.Prepare("SELECT count(*) FROM (SELECT 1 FROM postings WHERE term_id = ? LIMIT 5000) AS bearers"));
  ASSAY_RETURN_IF_ERROR(count->Bind(term).Step().status());
  return count->Integer(0);
}

/// The rarest first. Nothing is found of a filter with a term that is in no dictionary, whose id is 0.
Result<std::vector<int64_t>> FindTerms(const std::vector<Term>& terms, Connection& connection, Dictionary& dictionary) {
  std::vector<std::pair<int64_t, int64_t>> ranked;
  for (const Term& term : terms) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t id, dictionary.Find(term));
    ranked.emplace_back(0, id);
  }
  if (ranked.size() > 1) {
    for (auto& [bearers, id] : ranked) {
      ASSAY_ASSIGN_OR_RETURN(bearers, Bearers(id, connection));
    }
    std::ranges::sort(ranked);
  }
  std::vector<int64_t> ids;
  for (const auto& [bearers, id] : ranked) {
    ids.push_back(id);
  }
  return ids;
}

class QueryBuilder {
 public:
  ArrivalQuery Build(const MeasurementFilter& filter, int64_t page_end, const std::vector<int64_t>& terms,
                     int64_t settled) {
    ChooseSource(filter, terms);
    AddTerms(terms);
    AddTexts(filter);
    if (filter.after != 0) {
      Add(key_ + " > ?", filter.after);
    }
    if (filter.before != 0) {
      Add(key_ + " < ?", filter.before);
    }
    if (page_end != 0) {
      Add(key_ + (filter.newest_first ? " < ?" : " > ?"), page_end);
    }
    if (settled != kAllSettled) {
      Add(key_ + " <= ?", settled);
    }
    AddOrder(filter);
    query_.unordered = fmt::format("SELECT {} AS arrival FROM {}{}", key_, from_, where_);
    return std::move(query_);
  }

 private:
  /// What is gone through: the points of an entity, the measurements of a term, or measurements.
  void ChooseSource(const MeasurementFilter& filter, const std::vector<int64_t>& terms) {
    const bool by_point = !filter.entity_id.empty();
    by_term_ = !terms.empty() && !by_point && filter.uid.empty() && filter.operation.empty();
    const bool needs_measurements = !by_term_ || !filter.measured_since.empty();
    from_ = by_term_ ? "postings AS t0" : by_point ? "points AS p" : "measurements AS m";
    key_ = by_term_ ? "t0.arrival" : "m.arrival";
    if (by_point) {
      from_ += " JOIN measurements AS m ON m.point_id = p.id";
    } else if (by_term_ && needs_measurements) {
      from_ += " JOIN measurements AS m ON m.arrival = t0.arrival";
    }
  }

  void AddTerms(const std::vector<int64_t>& terms) {
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i == 0 && by_term_) {
        Add("t0.term_id = ?", terms[0]);
      } else {
        Add(fmt::format("EXISTS (SELECT 1 FROM postings AS t WHERE t.arrival = {} AND t.term_id = ?)", key_), terms[i]);
      }
    }
  }

  void AddTexts(const MeasurementFilter& filter) {
    const auto add = [this](std::string_view condition, const std::string& text) {
      if (!text.empty()) {
        Add(condition, text);
      }
    };
    add("m.uid = ?", filter.uid);
    add("p.entity_id = ?", filter.entity_id);
    add("m.measured_at >= ?", filter.measured_since);
    add("m.uid IN (SELECT measurement_uid FROM operation_results WHERE operation_uid = ?)", filter.operation);
  }

  void AddOrder(const MeasurementFilter& filter) {
    query_.order = fmt::format(" ORDER BY {} {}", key_, filter.newest_first ? "DESC" : "ASC");
    if (filter.limit >= 0 || filter.offset > 0) {
      query_.limit = " LIMIT ? OFFSET ?";
      query_.parameters.emplace_back(filter.limit >= 0 ? filter.limit : std::numeric_limits<int64_t>::max());
      query_.parameters.emplace_back(filter.offset);
    }
  }

  void Add(std::string_view condition, std::variant<int64_t, std::string> parameter) {
    where_ += fmt::format("{} {}", where_.empty() ? " WHERE" : " AND", condition);
    query_.parameters.push_back(std::move(parameter));
  }

  ArrivalQuery query_;
  std::string from_;
  std::string key_;
  std::string where_;
  bool by_term_ = false;
};

}  // namespace

void ArrivalQuery::BindTo(Statement& statement) const {
  for (const auto& parameter : parameters) {
    if (const auto* number = std::get_if<int64_t>(&parameter)) {
      statement.Bind(*number);
    } else {
      statement.Bind(std::string_view(std::get<std::string>(parameter)));
    }
  }
}

Result<ArrivalQuery> QueryOf(const MeasurementFilter& filter, int64_t page_end, Connection& connection,
                             Dictionary& dictionary) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<int64_t> terms, FindTerms(TermsOf(filter), connection, dictionary));
  int64_t settled = kAllSettled;
  if (filter.settled || filter.after != 0) {
    ASSAY_ASSIGN_OR_RETURN(settled, connection.Settled());
  }
  return QueryBuilder().Build(filter, page_end, terms, settled);
}

}  // namespace assay::samplestore
