#include "cli/run_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/yaml.h"

namespace assay::cli {
namespace {

constexpr char kConfigFlag[] = "--config";

std::string WithDashes(std::string key) {
  std::ranges::replace(key, '_', '-');
  return key;
}

bool IsFlag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0;
}

/// Its values add up.
bool MayComeAgain(const CLI::Option& option) {
  return !IsFlag(option) && option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

/// What a file may name: not help, nor the file itself.
std::map<std::string, const CLI::Option*> ConfigurableOptions(const CLI::App& app) {
  std::map<std::string, const CLI::Option*> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_configurable() && option != app.get_help_ptr()) {
      for (const std::string& name : option->get_lnames()) {
        options[name] = option;
      }
    }
  }
  return options;
}

/// Those that the words name, however their values are given.
std::set<const CLI::Option*> GivenOptions(const CLI::App& app, const std::vector<std::string>& words) {
  std::set<const CLI::Option*> given;
  for (const std::string& word : words) {
    if (word.starts_with('-')) {
      given.insert(app.get_option_no_throw(word.substr(0, word.find('='))));
    }
  }
  return given;
}

/// The value of --config; empty without one.
std::string ConfigFile(const std::vector<std::string>& words) {
  std::string file;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kConfigFlag && i + 1 < words.size()) {
      file = words[i + 1];
    } else if (words[i].starts_with(std::string(kConfigFlag) + "=")) {
      file = words[i].substr(sizeof(kConfigFlag));
    }
  }
  return file;
}

Status CheckKeys(const YamlNode& file, const std::map<std::string, const CLI::Option*>& options) {
  if (!file.IsMap()) {
    return file.Error("a configuration is a map of options: a line 'batch-size: 4' for each");
  }
  std::vector<std::string> known;
  for (const auto& [name, option] : options) {
    known.push_back(name);
  }
  for (const auto& [name, option] : options) {
    std::string key = name;
    std::ranges::replace(key, '-', '_');
    known.push_back(key);
  }
  ASSAY_RETURN_IF_ERROR(file.CheckKeys(known));
  std::set<const CLI::Option*> seen;
  for (const auto& [key, value] : file.entries()) {
    if (!seen.insert(options.at(WithDashes(key))).second) {
      return value.Error(fmt::format("'{}' is set twice", key));
    }
  }
  return Status::Ok();
}

Result<std::vector<std::string>> ValuesOf(const std::string& key, const YamlNode& value) {
  if (!value.IsScalar() && !value.IsSequence()) {
    return value.Error(fmt::format("'{}' is a map: expected a value, or a list of values", key));
  }
  std::vector<std::string> values;
  for (const YamlNode& item : value.IsScalar() ? std::vector<YamlNode>{value} : value.items()) {
    ASSAY_ASSIGN_OR_RETURN(std::string text, item.AsText());
    values.push_back(std::move(text));
  }
  return values;
}

/// The words of a command line that say the same.
Result<std::vector<std::string>> WordsOf(const std::string& key, const YamlNode& value, const CLI::Option& option) {
  std::vector<std::string> words;
  if (value.IsNull()) {
    return words;
  }
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::string> values, ValuesOf(key, value));
  if (!MayComeAgain(option)) {
    values = {fmt::format("{}", fmt::join(values, ","))};
  }
  for (const std::string& text : values) {
    if (IsFlag(option) && text != "true" && text != "false") {
      return value.Error(fmt::format("'{}' is '{}': expected true or false", key, text));
    }
    const bool says_nothing = IsFlag(option) && text == "false" && !option.check_fname("no-" + WithDashes(key));
    if (!says_nothing) {
      words.push_back(fmt::format("--{}={}", WithDashes(key), text));
    }
  }
  return words;
}

/// As a plain scalar where YAML reads it back as this text, else quoted.
std::string Quoted(const std::string& text) {
  const bool plain =
      !text.empty() && text != "null" && text != "~" && std::isalnum(static_cast<unsigned char>(text[0])) &&
      std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || std::string_view("_./-+,").find(static_cast<char>(c)) != std::string_view::npos;
      });
  return plain ? text : DumpJson(text);
}

std::string ValueOf(const CLI::Option& option) {
  std::vector<std::string> values = option.results();
  if (MayComeAgain(option)) {
    std::ranges::transform(values, values.begin(), Quoted);
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  const std::string& last = values.back();
  return Quoted(last.empty() && option.get_items_expected_min() == 0 ? option.get_default_str() : last);
}

}  // namespace

void AddConfigOptions(CLI::App& app, ConfigOptions& options) {
  app.add_option(kConfigFlag, options.file,
                 "Options out of a YAML file (batch-size: 4); what the command line gives itself wins")
      ->type_name("FILE")
      ->configurable(false);
  app.add_flag("--print-config", options.print, "Print what these options make as such a file, and do nothing else")
      ->configurable(false);
}

Result<std::vector<std::string>> ExpandConfig(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty()) {
    return arguments;
  }
  const auto verbs = app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == arguments[0]; });
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  const std::string path = ConfigFile(words);
  if (verbs.empty() || path.empty() || verbs[0]->get_option_no_throw(kConfigFlag) == nullptr) {
    return arguments;
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode file, YamlNode::ReadFile(path));
  if (file.IsNull()) {
    return arguments;
  }
  const auto options = ConfigurableOptions(*verbs[0]);
  ASSAY_RETURN_IF_ERROR(CheckKeys(file, options));
  const std::set<const CLI::Option*> given = GivenOptions(*verbs[0], words);
  std::vector<std::string> expanded = {arguments[0]};
  for (const auto& [key, value] : file.entries()) {
    const CLI::Option& option = *options.at(WithDashes(key));
    if (given.contains(&option)) {
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> own, WordsOf(key, value, option));
    expanded.insert(expanded.end(), own.begin(), own.end());
  }
  expanded.insert(expanded.end(), words.begin(), words.end());
  return expanded;
}

std::string ConfigText(const CLI::App& app) {
  std::string text = fmt::format("# assay {} --config FILE\n", app.get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_configurable() || option == app.get_help_ptr() || option->get_lnames().empty()) {
      continue;
    }
    const std::string& name = option->get_lnames()[0];
    if (option->count() > 0) {
      text += fmt::format("{}: {}\n", name, ValueOf(*option));
    } else {
      const std::string value = IsFlag(*option) ? "false" : option->get_default_str();
      text += fmt::format("# {}:{}{}\n", name, value.empty() ? "" : " ", value);
    }
  }
  return text;
}

}  // namespace assay::cli
