#include "samplestore/sql/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "samplestore/dependencies.h"

namespace assay::samplestore {
namespace {

static_assert(std::endian::native == std::endian::little, "series are stored as little-endian doubles");

/// Entries of provenance that people ask for.
constexpr const char* kFoundByProvenance[] = {"host", kCommit, kMachine};

Status Damaged(std::string_view store, std::string_view what) {
  return Status::FailedPrecondition(
      fmt::format("store {} is damaged: {} (restore it from a copy, or choose another store)", store, what));
}

void AddValues(TermKind kind, const space::Entity& values, std::vector<Term>& terms) {
  for (const auto& [name, value] : values) {
    terms.push_back({kind, name, ValueText(value)});
  }
}

void AddTexts(TermKind kind, const std::map<std::string, std::string>& texts, std::vector<Term>& terms) {
  for (const auto& [name, text] : texts) {
    terms.push_back({kind, name, CleanText(text)});
  }
}

std::string TargetsText(const Measurement& measurement) {
  auto names = nlohmann::json::array();
  for (const auto& [name, value] : measurement.properties) {
    names.push_back(name);
  }
  return DumpJson(names);
}

Result<space::Value> ReadValue(std::string_view text, std::string_view store) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, store));
  return space::ValueFromJson(json);
}

Result<std::vector<std::string>> ReadTargets(std::string_view text, std::string_view store) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, store));
  std::vector<std::string> names;
  for (const nlohmann::json& name : json) {
    if (!json.is_array() || !name.is_string()) {
      return Damaged(store, "a target has no name");
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

Result<std::map<std::string, std::string>> ReadUnits(std::string_view text, std::string_view store) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, store));
  std::map<std::string, std::string> units;
  for (const auto& [name, unit] : json.items()) {
    if (!unit.is_string()) {
      return Damaged(store, fmt::format("the unit of {} is no text", name));
    }
    units[name] = unit.get<std::string>();
  }
  return units;
}

/// What `known` says, by `read` where nobody has read it yet.
template <typename T>
Result<const T*> ContentOf(KnownTerm& known, std::string_view store,
                           Result<T> (*read)(std::string_view text, std::string_view store)) {
  if (!std::holds_alternative<T>(known.content)) {
    ASSAY_ASSIGN_OR_RETURN(known.content, read(known.term.value, store));
  }
  return &std::get<T>(known.content);
}

Status TakeTargets(const std::vector<std::string>& targets, std::string_view values, std::string_view store,
                   Measurement& measurement) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json list, ParseJson(values, store));
  if (!list.is_array() || targets.size() != list.size()) {
    return Damaged(store, "a measurement has other values than targets");
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(space::Value value, space::ValueFromJson(list[i]));
    measurement.properties.insert_or_assign(measurement.properties.end(), targets[i], std::move(value));
  }
  return Status::Ok();
}

}  // namespace

std::string CleanText(const std::string& text) {
  if (IsUtf8(text) && text.find('\0') == std::string::npos) {
    return text;
  }
  // What is no UTF-8 is replaced where JSON is written.
  std::string clean = nlohmann::json::parse(DumpJson(text)).get<std::string>();
  std::ranges::replace(clean, '\0', ' ');
  return clean;
}

std::string ValueText(const space::Value& value) {
  return DumpJson(space::ToJson(value));
}

std::vector<Term> DescriptionOf(const Measurement& measurement) {
  std::vector<Term> terms;
  AddValues(TermKind::kEntity, measurement.entity, terms);
  AddValues(TermKind::kParameter, measurement.parameters, terms);
  AddTexts(TermKind::kProvenance, measurement.provenance, terms);
  AddTexts(TermKind::kDependency, measurement.depends_on, terms);
  terms.push_back({TermKind::kTargets, "", TargetsText(measurement)});
  if (!measurement.units.empty()) {
    terms.push_back({TermKind::kUnits, "", DumpJson(measurement.units)});
  }
  return terms;
}

std::vector<Term> FoundBy(const Measurement& measurement) {
  std::vector<Term> terms = {{TermKind::kExperiment, "", measurement.experiment},
                             {TermKind::kParameterized, "", measurement.parameterized_id},
                             {TermKind::kOutcome, "", std::string(ToString(measurement.outcome))}};
  AddValues(TermKind::kEntity, measurement.entity, terms);
  for (const char* name : kFoundByProvenance) {
    if (const auto found = measurement.provenance.find(name); found != measurement.provenance.end()) {
      terms.push_back({TermKind::kProvenance, name, CleanText(found->second)});
    }
  }
  return terms;
}

std::string ValuesText(const Measurement& measurement) {
  auto values = nlohmann::json::array();
  for (const auto& [name, value] : measurement.properties) {
    values.push_back(space::ToJson(value));
  }
  return DumpJson(values);
}

PackedSeries PackSeries(const Measurement& measurement) {
  PackedSeries packed;
  if (measurement.series.empty()) {
    return packed;
  }
  auto lengths = nlohmann::json::object();
  for (const auto& [name, values] : measurement.series) {
    lengths[name] = values.size();
    packed.bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  packed.lengths = DumpJson(lengths);
  return packed;
}

Status UnpackSeries(std::string_view lengths, std::string_view bytes, std::string_view store,
                    Measurement& measurement) {
  if (lengths.empty()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(lengths, store));
  for (const auto& [name, item] : json.items()) {
    if (!item.is_number_unsigned()) {
      return Damaged(store, fmt::format("series {} has no length", name));
    }
    const auto length = item.get<size_t>();
    if (bytes.size() / sizeof(double) < length) {
      return Damaged(store, fmt::format("series {} is cut off", name));
    }
    std::vector<double>& values = measurement.series[name];
    values.resize(length);
    if (length > 0) {
      std::memcpy(values.data(), bytes.data(), length * sizeof(double));
    }
    bytes.remove_prefix(length * sizeof(double));
  }
  return Status::Ok();
}

Status Describe(std::span<KnownTerm* const> terms, std::string_view values, std::string_view store,
                Measurement& measurement) {
  for (KnownTerm* known : terms) {
    const Term& term = known->term;
    switch (term.kind) {
      case TermKind::kEntity: {
        ASSAY_ASSIGN_OR_RETURN(const space::Value* value, ContentOf(*known, store, &ReadValue));
        measurement.entity[term.name] = *value;
        break;
      }
      case TermKind::kParameter: {
        ASSAY_ASSIGN_OR_RETURN(const space::Value* value, ContentOf(*known, store, &ReadValue));
        measurement.parameters[term.name] = *value;
        break;
      }
      case TermKind::kProvenance:
        measurement.provenance[term.name] = term.value;
        break;
      case TermKind::kDependency:
        measurement.depends_on[term.name] = term.value;
        break;
      case TermKind::kTargets: {
        ASSAY_ASSIGN_OR_RETURN(const auto* targets, ContentOf(*known, store, &ReadTargets));
        ASSAY_RETURN_IF_ERROR(TakeTargets(*targets, values, store, measurement));
        break;
      }
      case TermKind::kUnits: {
        ASSAY_ASSIGN_OR_RETURN(const auto* units, ContentOf(*known, store, &ReadUnits));
        measurement.units = *units;
        break;
      }
      case TermKind::kExperiment:
      case TermKind::kParameterized:
      case TermKind::kOutcome:
        return Damaged(store, "a measurement is described by what it is found by");
    }
  }
  return Status::Ok();
}

}  // namespace assay::samplestore
