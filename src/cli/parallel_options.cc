#include "cli/parallel_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "cli/options.h"

namespace assay::cli {
namespace {

/// Sets the knob `name` where its type is T.
template <typename T>
void SetKnob(job::PluginKnobs& knobs, std::string_view name, const T& value) {
  job::VisitKnobs(knobs, [&](const char* knob, auto& field) {
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(field)>, T>) {
      if (name == knob) {
        field = value;
      }
    }
  });
}

void AddKnobOptions(CLI::App& app, job::PluginKnobs& defaults, GivenKnobs& given) {
  job::VisitKnobs(defaults, [&](const char* name, auto& field) {
    using T = std::remove_reference_t<decltype(field)>;
    std::string flag = fmt::format("--{}", name);
    std::ranges::replace(flag, '_', '-');
    app.add_option_function<T>(
           flag,
           [&given, name = std::string(name)](const T& value) {
             given.emplace_back([name, value](job::PluginKnobs& knobs) { SetKnob(knobs, name, value); });
           },
           std::string(job::DescribeKnob(name)))
        ->group("Knobs of the plugins, each its own default when not given");
  });
}

}  // namespace

void AddParallelOptions(CLI::App& app, job::ParallelPlan& plan, GivenKnobs& given) {
  std::vector<std::string> names;
  std::string footer = "Plugins, with their own precision and the knobs they read:\n";
  for (const job::PluginInfo& plugin : job::Plugins()) {
    names.emplace_back(plugin.name);
    footer += "  " + job::DescribePlugin(plugin) + "\n";
  }
  app.add_option("--plugin", plan.plugin, "How model and data are spread over the ranks")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--number-ranks", plan.number_ranks, "Processes of this machine")
      ->check(WholeNumber(1, 4096))
      ->capture_default_str();
  AddKnobOptions(app, plan.knobs, given);
  app.footer(footer + "\n" + app.get_footer());
}

Result<const job::PluginInfo*> CompleteKnobs(const GivenKnobs& given, job::ParallelPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const job::PluginInfo* plugin, job::FindPlugin(plan.plugin));
  plan.knobs = plugin->defaults;
  for (const auto& set : given) {
    set(plan.knobs);
  }
  return plugin;
}

}  // namespace assay::cli
