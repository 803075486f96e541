#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/cell_state.h"
#include "report/export/table.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using space::Value;

Value Text(std::string_view text) {
  return text.empty() ? Value() : Value(std::string(text));
}

Value Real(const std::optional<double>& number) {
  return number ? Value(*number) : Value();
}

/// Of values of several types each is its text.
void Settle(Column& column) {
  const auto all = [&](auto is_it) { return std::ranges::all_of(column.cells, is_it); };
  const auto is_none = [](const Value& cell) { return std::holds_alternative<std::monostate>(cell); };
  const auto is_whole = [&](const Value& cell) { return is_none(cell) || std::holds_alternative<int64_t>(cell); };
  if (all(is_whole)) {
    column.type = ColumnType::kInteger;
  } else if (all([&](const Value& cell) { return is_whole(cell) || std::holds_alternative<double>(cell); })) {
    column.type = ColumnType::kReal;
  } else if (all([&](const Value& cell) { return is_none(cell) || std::holds_alternative<bool>(cell); })) {
    column.type = ColumnType::kBoolean;
  } else {
    column.type = ColumnType::kText;
    for (Value& cell : column.cells) {
      cell = is_none(cell) ? Value() : Value(space::ToString(cell));
    }
  }
}

/// Columns over configurations and, behind them, unmeasured points.
class TableMaker {
 public:
  explicit TableMaker(const ReportContent& content) : content_(content) {
    rows_ = content.results.configurations().size();
    unmeasured_ = content.results.unmeasured().size();
  }

  Table Make() && {
    AddPlaces();
    for (size_t i = 0; i < content_.metrics.size(); ++i) {
      AddMetric(i);
    }
    AddFronts();
    AddForetold();
    Add("run_uids", ColumnType::kText, [](const Configuration& configuration) {
      std::vector<std::string> uids;
      for (const samplestore::Measurement* run : configuration.runs) {
        uids.push_back(run->uid);
      }
      return Text(Join(uids, " "));
    });
    return std::move(table_);
  }

 private:
  template <typename CellOf>
  void Add(std::string name, ColumnType type, CellOf cell_of) {
    Column& column = table_.emplace_back(Column{.name = std::move(name), .type = type, .cells = {}});
    for (const Configuration& configuration : content_.results.configurations()) {
      column.cells.push_back(cell_of(configuration));
    }
    column.cells.resize(rows_ + unmeasured_);
  }

  void AddPlaces() {
    Add(std::string(kFirstColumn), ColumnType::kInteger,
        [](const Configuration& configuration) { return static_cast<int64_t>(configuration.index + 1); });
    Add("state", ColumnType::kText,
        [](const Configuration& configuration) { return Text(ToString(StateOf(configuration))); });
    std::fill(table_.back().cells.begin() + static_cast<ptrdiff_t>(rows_), table_.back().cells.end(),
              Text(ToString(CellState::kMissing)));
    Add("reason", ColumnType::kText, [](const Configuration& configuration) { return Text(configuration.reason()); });
    Add("runs", ColumnType::kInteger,
        [](const Configuration& configuration) { return static_cast<int64_t>(configuration.runs.size()); });
    for (const Axis& axis : content_.results.axes()) {
      Add(axis.property, ColumnType::kText,
          [&](const Configuration& configuration) { return configuration.At(axis.property); });
      for (size_t i = 0; i < unmeasured_; ++i) {
        table_.back().cells[rows_ + i] = content_.results.unmeasured()[i].At(axis.property);
      }
      Settle(table_.back());
    }
  }

  void AddMetric(size_t metric) {
    const std::string id = MetricId(content_.metrics[metric]);
    const auto add = [&](const std::string& suffix, ColumnType type, auto cell_of) {
      Add(id + suffix, type, [&](const Configuration& configuration) {
        const std::optional<Estimate>& estimate = content_.estimates.At(configuration.index, metric);
        return estimate ? cell_of(*estimate) : Value();
      });
    };
    const auto interval = [](const Estimate& estimate, double end) {
      return estimate.has_interval() ? Value(end) : Value();
    };
    add("", ColumnType::kReal, [](const Estimate& estimate) { return Value(estimate.value); });
    add("_low", ColumnType::kReal, [&](const Estimate& estimate) { return interval(estimate, estimate.low); });
    add("_high", ColumnType::kReal, [&](const Estimate& estimate) { return interval(estimate, estimate.high); });
    add("_n", ColumnType::kInteger,
        [](const Estimate& estimate) { return Value(static_cast<int64_t>(estimate.samples)); });
    add("_basis", ColumnType::kText, [](const Estimate& estimate) { return Text(BasisName(estimate.basis)); });
  }

  void AddFronts() {
    for (const Front& front : content_.fronts) {
      if (front.x != 0) {
        continue;  // a table of all pairs is mostly that; the model has them
      }
      const std::set<size_t> on_it(front.configurations.begin(), front.configurations.end());
      Add("front." + MetricId(content_.metrics[front.x]) + "." + MetricId(content_.metrics[front.y]),
          ColumnType::kBoolean,
          [&](const Configuration& configuration) { return Value(on_it.contains(configuration.index)); });
    }
  }

  void AddForetold() {
    std::vector<std::optional<double>> seconds(rows_);
    for (const Foretold& foretold : ForetellByOthers(content_.results, content_.lines, content_.metrics)) {
      seconds[foretold.point->index] = foretold.step_seconds;
    }
    Add("foretold_step_seconds", ColumnType::kReal,
        [&](const Configuration& configuration) { return Real(seconds[configuration.index]); });
  }

  const ReportContent& content_;
  size_t rows_ = 0;
  size_t unmeasured_ = 0;
  Table table_;
};

}  // namespace

Table ConfigurationTable(const ReportContent& content) {
  return TableMaker(content).Make();
}

}  // namespace assay::report
