#include "report/charts/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace assay::report {
namespace {

constexpr size_t kMaxSeriesInPanel = 8;
constexpr size_t kMaxPanels = 12;
constexpr size_t kMaxLegendEntries = 10;

// The values of `properties` in the order of the result set.
using Key = std::vector<space::Value>;

struct KeyLess {
  bool operator()(const Key& a, const Key& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), &ValueLess);
  }
};

Key KeyOf(const Configuration& configuration, const std::vector<std::string>& properties) {
  Key key;
  for (const std::string& property : properties) {
    key.push_back(configuration.At(property));
  }
  return key;
}

std::vector<Key> DistinctKeys(const ResultSet& results, const std::vector<std::string>& properties) {
  std::set<Key, KeyLess> keys;
  for (const Configuration& configuration : results.configurations()) {
    keys.insert(KeyOf(configuration, properties));
  }
  return {keys.begin(), keys.end()};
}

size_t MaxSeriesInPanel(const ResultSet& results, const std::vector<std::string>& facets,
                        const std::vector<std::string>& lines) {
  std::map<Key, std::set<Key, KeyLess>, KeyLess> panels;
  size_t most = 0;
  for (const Configuration& configuration : results.configurations()) {
    auto& series = panels[KeyOf(configuration, facets)];
    series.insert(KeyOf(configuration, lines));
    most = std::max(most, series.size());
  }
  return most;
}

std::vector<std::string> Without(std::vector<std::string> names, const std::string& name) {
  std::erase(names, name);
  return names;
}

std::string KeyText(const Declared& declared, const std::vector<std::string>& properties, const Key& key) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < properties.size(); ++i) {
    parts.push_back(declared.Text(properties[i], key[i]));
  }
  return Join(parts, ", ");
}

std::string ValuesText(const Key& key) {
  std::vector<std::string> parts;
  for (const space::Value& value : key) {
    parts.push_back(space::ToString(value));
  }
  return Join(parts, " \u00b7 ");
}

std::vector<std::string> ChooseFacets(const ResultSet& results, const std::string& color_property,
                                      std::vector<std::string>& lines) {
  std::vector<std::string> facets;
  const std::vector<std::string> candidates = Without(lines, color_property);
  for (const std::string& candidate : candidates) {
    if (MaxSeriesInPanel(results, facets, lines) <= kMaxSeriesInPanel) {
      break;
    }
    std::vector<std::string> with_candidate = facets;
    with_candidate.push_back(candidate);
    if (DistinctKeys(results, with_candidate).size() <= kMaxPanels) {
      facets = with_candidate;
      lines = Without(lines, candidate);
    }
  }
  return facets;
}

int IndexOf(const std::vector<Key>& keys, const Key& key) {
  return static_cast<int>(std::lower_bound(keys.begin(), keys.end(), key, KeyLess()) - keys.begin());
}

}  // namespace

std::string ColorProperty(const ResultSet& results, std::string_view x_property) {
  using experiment::Role;
  for (std::string preferred :
       {std::string(kMethod), results.VaryingWith(Role::kSeries), results.VaryingWith(Role::kModel)}) {
    if (preferred != x_property && results.Varies(preferred)) {
      return preferred;
    }
  }
  const std::vector<std::string> others = Without(results.varying(), std::string(x_property));
  return others.empty() ? "" : others.front();
}

int ColorOf(const ResultSet& results, const std::string& color_property, const Configuration& configuration) {
  if (color_property.empty()) {
    return 0;
  }
  const std::vector<space::Value> values = results.ValuesOf(color_property);
  return static_cast<int>(std::lower_bound(values.begin(), values.end(), configuration.At(color_property), &ValueLess) -
                          values.begin());
}

Arrangement Arrange(const ResultSet& results, std::string_view x_property) {
  Arrangement arrangement;
  arrangement.color_property = ColorProperty(results, x_property);
  std::vector<std::string> lines = Without(results.varying(), std::string(x_property));
  const std::vector<std::string> facets = ChooseFacets(results, arrangement.color_property, lines);
  arrangement.line_properties = lines;

  const std::vector<std::string> dashes = Without(lines, arrangement.color_property);
  const std::vector<Key> dash_keys = DistinctKeys(results, dashes);
  std::map<Key, std::map<Key, Series, KeyLess>, KeyLess> panels;
  for (const Configuration& configuration : results.configurations()) {
    const Key key = KeyOf(configuration, lines);
    Series& series = panels[KeyOf(configuration, facets)][key];
    series.points.push_back(&configuration);
    series.short_label = ValuesText(key);
    const int color = ColorOf(results, arrangement.color_property, configuration);
    series.style = {color, IndexOf(dash_keys, KeyOf(configuration, dashes)) + color / kColors};
  }
  for (auto& [facet, series_of_key] : panels) {
    Panel& panel = arrangement.panels.emplace_back();
    panel.title = KeyText(results.declared(), facets, facet);
    for (auto& [key, series] : series_of_key) {
      panel.series.push_back(std::move(series));
    }
  }
  return arrangement;
}

std::vector<LegendEntry> LegendOf(const ResultSet& results, const Arrangement& arrangement) {
  std::vector<LegendEntry> entries;
  for (const Panel& panel : arrangement.panels) {
    for (const Series& series : panel.series) {
      const auto same = [&](const LegendEntry& entry) { return entry.style == series.style; };
      if (!series.short_label.empty() && std::none_of(entries.begin(), entries.end(), same)) {
        entries.push_back({series.short_label, series.style});
      }
    }
  }
  if (entries.size() <= kMaxLegendEntries) {
    return entries;
  }
  entries.clear();
  for (const space::Value& value : results.ValuesOf(arrangement.color_property)) {
    const int color = static_cast<int>(entries.size());
    entries.push_back({space::ToString(value), {color, color / kColors}});
  }
  return entries;
}

std::string LinesText(const ResultSet& results, const Arrangement& arrangement) {
  std::vector<std::string> labels;
  for (const std::string& property : arrangement.line_properties) {
    labels.push_back(results.declared().Label(property));
  }
  return labels.empty() ? "" : fmt::format("a line for each {}", Join(labels, " \u00b7 "));
}

}  // namespace assay::report
