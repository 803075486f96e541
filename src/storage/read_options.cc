#include "storage/read_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <variant>

#include "base/text.h"
#include "base/yaml.h"
#include "base/yaml_scalar.h"
#include "storage/stores.h"

namespace assay::storage {
namespace {

struct BytesOption {
  int64_t StoreOptions::* member;
};
struct SecondsOption {
  double StoreOptions::* member;
};
// Where an option has a kind of its own, `member` is what it is kept in; of an option of one store's own, what
// describes it.
using Member = std::variant<std::string StoreOptions::*, bool StoreOptions::*, int StoreOptions::*, BytesOption,
                            SecondsOption, const OwnOption*>;

struct OptionRow {
  OptionName name;
  Member member;
};

/// Those that all stores may have.
constexpr OptionRow kOptions[] = {
    {{"endpoint", "ASSAY_STORAGE_ENDPOINT", "URL of the service; empty: the provider's"}, &StoreOptions::endpoint},
    {{"region", "ASSAY_STORAGE_REGION", "region of the bucket"}, &StoreOptions::region},
    {{"profile", "ASSAY_STORAGE_PROFILE", "profile of the store's own configuration files"}, &StoreOptions::profile},
    {{"anonymous", "ASSAY_STORAGE_ANONYMOUS", "send no credentials"}, &StoreOptions::anonymous},
    {{"requester_pays", "ASSAY_STORAGE_REQUESTER_PAYS", "accept to be billed for requests"},
     &StoreOptions::requester_pays},
    {{"storage_class", "ASSAY_STORAGE_CLASS", "storage class of new objects"}, &StoreOptions::storage_class},
    {{"encryption_key_id", "ASSAY_STORAGE_ENCRYPTION_KEY_ID", "key of the provider's key service"},
     &StoreOptions::encryption_key_id},
    {{"part_bytes", "ASSAY_STORAGE_PART_BYTES", "size of a part (16 MiB); 0: chosen by the object's size"},
     BytesOption{&StoreOptions::part_bytes}},
    {{"connections", "ASSAY_STORAGE_CONNECTIONS", "requests at a time; 0: chosen by the documented rule"},
     &StoreOptions::connections},
    {{"io_threads", "ASSAY_STORAGE_IO_THREADS", "threads that move bytes; 0: two, on one core one"},
     &StoreOptions::io_threads},
    {{"libcurl", "ASSAY_STORAGE_LIBCURL", "let libcurl move all bytes"}, &StoreOptions::libcurl},
    {{"memory_budget_bytes", "ASSAY_STORAGE_MEMORY_BUDGET_BYTES", "memory for parts and buffers (256 MiB)"},
     BytesOption{&StoreOptions::memory_budget_bytes}},
    {{"bandwidth_bytes_per_s", "ASSAY_STORAGE_BANDWIDTH_BYTES_PER_S", "bytes a second at most; 0: no limit"},
     BytesOption{&StoreOptions::bandwidth_bytes_per_s}},
    {{"connect_timeout_seconds", "ASSAY_STORAGE_CONNECT_TIMEOUT_SECONDS", "seconds until a connection stands"},
     SecondsOption{&StoreOptions::connect_timeout_seconds}},
    {{"stall_timeout_seconds", "ASSAY_STORAGE_STALL_TIMEOUT_SECONDS", "seconds without a byte moved"},
     SecondsOption{&StoreOptions::stall_timeout_seconds}},
    {{"deadline_seconds", "ASSAY_STORAGE_DEADLINE_SECONDS", "seconds for an operation with its retries; 0: no limit"},
     SecondsOption{&StoreOptions::deadline_seconds}},
    {{"max_attempts", "ASSAY_STORAGE_MAX_ATTEMPTS", "times one request is sent at most"}, &StoreOptions::max_attempts},
    {{"verify_tls", "ASSAY_STORAGE_VERIFY_TLS", "check the service's certificate"}, &StoreOptions::verify_tls},
    {{"ca_file", "ASSAY_STORAGE_CA_FILE", "PEM file of certificate authorities; empty: the system's"},
     &StoreOptions::ca_file},
    {{"proxy", "ASSAY_STORAGE_PROXY", "URL of a proxy"}, &StoreOptions::proxy},
};

std::vector<OptionRow> RowsOf(const StoreKind& kind) {
  std::vector<OptionRow> rows;
  for (const OwnOption& option : kind.options) {
    rows.push_back({{option.key, option.variable, option.meaning}, &option});
  }
  return rows;
}

std::vector<OptionRow> AllRows() {
  std::vector<OptionRow> rows(std::begin(kOptions), std::end(kOptions));
  for (const StoreKind* kind : StoreKinds()) {
    const std::vector<OptionRow> own = RowsOf(*kind);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

std::vector<std::string> KeysOf(std::span<const OptionRow> rows) {
  std::vector<std::string> keys;
  for (const OptionRow& row : rows) {
    keys.emplace_back(row.name.key);
  }
  return keys;
}

// Nothing where there is no such option.
std::optional<OptionRow> FindRow(std::string_view key) {
  const std::vector<OptionRow> rows = AllRows();
  const auto row = std::ranges::find_if(rows, [key](const OptionRow& candidate) { return candidate.name.key == key; });
  return row == rows.end() ? std::nullopt : std::optional(*row);
}

// Reads a text into the member of an option; says what was expected of one that cannot be.
class Assign {
 public:
  Assign(StoreOptions& options, const std::string& text) : options_(options), text_(text) {}

  std::optional<std::string> operator()(std::string StoreOptions::* member) const {
    options_.*member = text_;
    return std::nullopt;
  }
  std::optional<std::string> operator()(bool StoreOptions::* member) const {
    const std::optional<bool> value = Switch();
    if (!value) {
      return kSwitchWords;
    }
    options_.*member = *value;
    return std::nullopt;
  }
  std::optional<std::string> operator()(int StoreOptions::* member) const {
    const auto value = YamlInteger(text_);
    if (!value || *value < 0 || *value > 100'000) {
      return "a whole number from 0 to 100000";
    }
    options_.*member = static_cast<int>(*value);
    return std::nullopt;
  }
  std::optional<std::string> operator()(BytesOption option) const {
    const auto value = ParseBytes(text_);
    if (!value.ok() || *value < 0) {
      return "a number of bytes such as 16MiB";
    }
    options_.*option.member = *value;
    return std::nullopt;
  }
  std::optional<std::string> operator()(SecondsOption option) const {
    const auto value = YamlNumber(text_);
    if (!value || !(*value >= 0 && *value <= 1e9)) {
      return "a number of seconds";
    }
    options_.*option.member = *value;
    return std::nullopt;
  }
  std::optional<std::string> operator()(const OwnOption* option) const {
    std::string& value = options_.own[std::string(option->key)];
    const std::optional<bool> on = Switch();
    switch (option->form) {
      case OwnOption::Form::kText:
        value = text_;
        return std::nullopt;
      case OwnOption::Form::kSwitch:
        value = on.value_or(false) ? "true" : "false";
        return on ? std::nullopt : std::optional<std::string>(kSwitchWords);
      case OwnOption::Form::kWord:
        break;
    }
    // In YAML "yes" and "no" are truths as well.
    const auto is = [&](std::string_view word) { return word == text_ || (on && word == (*on ? "yes" : "no")); };
    const auto word = std::ranges::find_if(option->words, is);
    if (word == option->words.end()) {
      return "one of " + Join({option->words.begin(), option->words.end()}, ", ");
    }
    value = *word;
    return std::nullopt;
  }

 private:
  static constexpr char kSwitchWords[] = "true or false";
  std::optional<bool> Switch() const {
    return text_ == "1" ? std::optional(true) : text_ == "0" ? std::optional(false) : YamlBool(text_);
  }

  StoreOptions& options_;
  const std::string& text_;
};

// What was expected, where `text` is not that.
std::optional<std::string> SetOption(const OptionRow& row, const std::string& text, StoreOptions& options) {
  return std::visit(Assign(options, text), row.member);
}

Status SetFromVariable(const OptionRow& row, std::string_view variable, const std::string& text,
                       StoreOptions& options) {
  if (const auto expected = SetOption(row, text, options)) {
    return Status::InvalidArgument(
        fmt::format("cannot use {}='{}': {} is expected (change or unset it)", variable, text, *expected));
  }
  return Status::Ok();
}

Status SetFromYaml(const YamlNode& map, StoreOptions& options) {
  for (const auto& [key, node] : map.entries()) {
    const std::optional<OptionRow> row = FindRow(key);
    if (!row || node.IsNull()) {
      continue;  // the section of one store; or left empty
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string text, node.AsText());
    if (const auto expected = SetOption(*row, text, options)) {
      return node.Error(fmt::format("{} is '{}': {} is expected", key, text, *expected));
    }
  }
  return Status::Ok();
}

Status SetFromDocument(const YamlNode& document, std::string_view scheme, StoreOptions& options) {
  if (!document.IsMap()) {
    return document.Error("a map of options is expected");
  }
  std::vector<std::string> top = KeysOf(AllRows());
  for (const StoreKind* kind : StoreKinds()) {
    if (kind->is_remote) {
      top.emplace_back(kind->name);
    }
  }
  ASSAY_RETURN_IF_ERROR(document.CheckKeys(top));
  ASSAY_RETURN_IF_ERROR(SetFromYaml(document, options));
  for (const StoreKind* kind : StoreKinds()) {
    if (!kind->is_remote || !document.Has(kind->name)) {
      continue;
    }
    // Those of other stores are read as well: a mistake shows whichever store is used.
    ASSAY_ASSIGN_OR_RETURN(const YamlNode section, document.Get(kind->name));
    if (!section.IsMap()) {
      return section.Error(fmt::format("{} must be a map of options", kind->name));
    }
    std::vector<std::string> keys = KeysOf(kOptions);
    const std::vector<std::string> own = KeysOf(RowsOf(*kind));
    keys.insert(keys.end(), own.begin(), own.end());
    ASSAY_RETURN_IF_ERROR(section.CheckKeys(keys));
    StoreOptions others;
    ASSAY_RETURN_IF_ERROR(SetFromYaml(section, kind == StoreKindOf(scheme) ? options : others));
  }
  return Status::Ok();
}

}  // namespace

VariableLookup ProcessVariables() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
  };
}

std::vector<OptionName> StoreOptionNames() {
  std::vector<OptionName> names;
  for (const OptionRow& row : AllRows()) {
    names.push_back(row.name);
  }
  return names;
}

Result<StoreOptions> StoreOptionsFromEnvironment(std::string_view scheme, const VariableLookup& variable) {
  StoreOptions options;
  const StoreKind* kind = StoreKindOf(scheme);
  const auto foreign = kind == nullptr ? std::span<const ForeignVariable>() : kind->variables;
  // From the last to the first, so that the first of two for the same option stands.
  for (auto row = foreign.rbegin(); row != foreign.rend(); ++row) {
    if (const auto text = variable(std::string(row->variable))) {
      ASSAY_RETURN_IF_ERROR(SetFromVariable(*FindRow(row->key), row->variable, *text, options));
    }
  }
  for (const OptionRow& row : AllRows()) {
    if (const auto text = variable(std::string(row.name.variable))) {
      ASSAY_RETURN_IF_ERROR(SetFromVariable(row, row.name.variable, *text, options));
    }
  }
  return options;
}

Status ReadStoreOptions(const std::string& path, std::string_view scheme, StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode document, YamlNode::ReadFile(path));
  return SetFromDocument(document, scheme, options);
}

Status ParseStoreOptions(std::string_view text, const std::string& source, std::string_view scheme,
                         StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode document, YamlNode::Parse(text, source));
  return SetFromDocument(document, scheme, options);
}

Result<StoreOptions> LoadStoreOptions(std::string_view scheme, const std::string& path,
                                      const VariableLookup& variable) {
  ASSAY_ASSIGN_OR_RETURN(StoreOptions options, StoreOptionsFromEnvironment(scheme, variable));
  const std::string file = path.empty() ? variable("ASSAY_STORAGE_OPTIONS").value_or("") : path;
  if (!file.empty()) {
    ASSAY_RETURN_IF_ERROR(ReadStoreOptions(file, scheme, options));
  }
  return options;
}

}  // namespace assay::storage
