#include "samplestore/sqlite_filter.h"

#include <fmt/format.h>

namespace assay::samplestore {

SqlFilter ToSql(const MeasurementFilter& filter) {
  SqlFilter sql;
  const auto add = [&](std::string_view condition, space::Value value) {
    sql.where += fmt::format("{} {}", sql.where.empty() ? " WHERE" : " AND", condition);
    sql.parameters.push_back(std::move(value));
  };
  const auto add_text = [&](std::string_view condition, const std::string& text) {
    if (!text.empty()) {
      add(condition, text);
    }
  };
  add_text("m.uid = ?", filter.uid);
  add_text("m.experiment = ?", filter.experiment);
  add_text("m.parameterized_id = ?", filter.parameterized_id);
  add_text("m.entity_id = ?", filter.entity_id);
  add_text("m.measured_at >= ?", filter.measured_since);
  if (filter.after != 0) {
    add("m.id > ?", filter.after);
  }
  if (filter.outcome) {
    add("m.outcome = ?", std::string(ToString(*filter.outcome)));
  }
  for (const auto& [name, value] : filter.entity) {
    add("EXISTS (SELECT 1 FROM cells AS c WHERE c.measurement_id = m.id AND c.column_id = "
        "(SELECT id FROM columns WHERE kind = 'constitutive' AND name = ?)",
        name);
    add("c.value IS ?)", value);
  }
  sql.order_and_limit = fmt::format(" ORDER BY m.id {} LIMIT ? OFFSET ?", filter.newest_first ? "DESC" : "ASC");
  sql.parameters.emplace_back(filter.limit);
  sql.parameters.emplace_back(filter.offset);
  return sql;
}

}  // namespace assay::samplestore
