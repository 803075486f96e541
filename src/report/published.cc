#include "report/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "report/breakdown.h"
#include "report/format.h"

namespace assay::report {
namespace {

using experiment::OwnColumn;
using experiment::PublishedFigures;
using experiment::PublishedRow;
using Configurations = std::vector<const Configuration*>;

bool IsAt(const Configuration& configuration, const space::Entity& point) {
  return std::ranges::all_of(point,
                             [&](const auto& property) { return configuration.At(property.first) == property.second; });
}

/// What varies beside the properties by which rows are found.
std::vector<std::string> OtherProperties(const ResultSet& results, const std::vector<PublishedRow>& rows) {
  std::vector<std::string> others = results.varying();
  std::erase_if(others, [&](const std::string& property) {
    return std::ranges::any_of(rows, [&](const PublishedRow& row) { return row.point.contains(property); });
  });
  return others;
}

/// The measured points of rows, those together that differ in nothing else.
std::vector<Configurations> GroupsOf(const ResultSet& results, const std::vector<PublishedRow>& rows,
                                     const std::vector<std::string>& others) {
  std::vector<Configurations> groups;
  for (const Configuration& configuration : results.configurations()) {
    if (configuration.ValidRuns().empty() ||
        std::ranges::none_of(rows, [&](const PublishedRow& row) { return IsAt(configuration, row.point); })) {
      continue;
    }
    const auto alike = [&](const Configurations& group) {
      return std::ranges::all_of(others, [&](const std::string& property) {
        return group.front()->At(property) == configuration.At(property);
      });
    };
    const auto found = std::ranges::find_if(groups, alike);
    if (found == groups.end()) {
      groups.push_back({&configuration});
    } else {
      found->push_back(&configuration);
    }
  }
  return groups;
}

std::string OwnText(const Configuration& configuration, const OwnColumn& column) {
  const experiment::BreakdownColumn asked{.label = "", .unit = "", .target = column.target, .factor = column.factor};
  const std::optional<Estimate> estimate = EstimateOf(configuration, asked);
  return estimate ? fmt::format("{} ({})", Readable(estimate->value), SureText(*estimate)) : "\u2013";
}

std::string TitleOf(const ResultSet& results, const std::string& title, const Configuration& first,
                    const std::vector<std::string>& others) {
  std::vector<std::string> parts;
  for (const std::string& property : others) {
    parts.push_back(results.declared().Text(property, first.At(property)));
  }
  return parts.empty() ? title : fmt::format("{}; here: {}", title, Join(parts, ", "));
}

}  // namespace

std::vector<PublishedTable> BesidePublished(const ResultSet& results, const PublishedFigures& published) {
  if (published.own.empty()) {
    PublishedTable table{.title = published.title, .rows = {}};
    std::ranges::transform(published.rows, std::back_inserter(table.rows), &experiment::PublishedRow::cells);
    return {std::move(table)};
  }
  const std::vector<std::string> others = OtherProperties(results, published.rows);
  std::vector<Configurations> groups = GroupsOf(results, published.rows, others);
  if (groups.empty()) {
    groups.emplace_back();
  }
  std::vector<PublishedTable> tables;
  for (const Configurations& group : groups) {
    PublishedTable& table = tables.emplace_back();
    table.title = group.empty() ? published.title : TitleOf(results, published.title, *group.front(), others);
    for (const PublishedRow& row : published.rows) {
      std::vector<std::string>& cells = table.rows.emplace_back(row.cells);
      const auto found = std::ranges::find_if(group, [&](const auto* ours) { return IsAt(*ours, row.point); });
      for (const OwnColumn& column : published.own) {
        cells.push_back(found == group.end() ? "\u2013" : OwnText(**found, column));
      }
    }
  }
  return tables;
}

}  // namespace assay::report
