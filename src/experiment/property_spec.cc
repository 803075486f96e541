#include "experiment/property_spec.h"

#include "base/text.h"
#include "space/number.h"

namespace assay::experiment {

using space::Domain;
using space::Value;

namespace {

std::vector<Value> TextValues(std::initializer_list<const char*> names) {
  std::vector<Value> values;
  for (const char* name : names) {
    values.emplace_back(std::string(name));
  }
  return values;
}

}  // namespace

int64_t IntegerOf(const space::Entity& point, const std::string& name) {
  return std::get<int64_t>(point.at(name));
}

double NumberOf(const space::Entity& point, const std::string& name) {
  return *space::NumberOf(point.at(name));
}

bool BoolOf(const space::Entity& point, const std::string& name) {
  return std::get<bool>(point.at(name));
}

std::string TextOf(const space::Entity& point, const std::string& name) {
  const space::Value& value = point.at(name);
  return value == kNone ? "" : std::get<std::string>(value);
}

Status TakeBytes(const Value& value, int64_t& bytes) {
  if (value == kNone) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(bytes, ParseBytes(std::get<std::string>(value)));
  return Status::Ok();
}

PropertySpec Required(std::string name, Domain domain, std::string description, std::string unit) {
  PropertySpec spec = Optional(std::move(name), std::move(domain), kNone, std::move(description), std::move(unit));
  spec.required = true;
  return spec;
}

PropertySpec Optional(std::string name, Domain domain, Value default_value, std::string description, std::string unit) {
  PropertySpec spec{std::move(name), std::move(domain)};
  spec.default_value = std::move(default_value);
  spec.unit = std::move(unit);
  spec.description = std::move(description);
  return spec;
}

PropertySpec Supporting(PropertySpec spec, std::vector<Value> supported) {
  spec.supported = std::move(supported);
  return spec;
}

PropertySpec NameOrPath(PropertySpec spec, bool (*is_name)(std::string_view)) {
  spec.is_name = is_name;
  return spec;
}

PropertySpec DefaultOnly(std::string name, Domain domain, Value default_value, std::string description) {
  std::vector<Value> supported = {default_value};
  PropertySpec spec = Optional(std::move(name), std::move(domain), std::move(default_value), std::move(description));
  return Supporting(std::move(spec), std::move(supported));
}

PropertySpec As(Shown shown, PropertySpec spec) {
  spec.shown = std::move(shown);
  return spec;
}

PropertySpec Own(PropertySpec spec) {
  spec.own = true;
  return spec;
}

Domain Choice(std::vector<Value> values) {
  return *Domain::Values(std::move(values));
}

Domain Texts(std::initializer_list<const char*> names) {
  return Choice(TextValues(names));
}

Domain TextsOrNone(std::initializer_list<const char*> names) {
  std::vector<Value> values = TextValues(names);
  values.insert(values.begin(), kNone);
  return Choice(std::move(values));
}

Domain Integers(int64_t minimum, int64_t end) {
  return *Domain::Range(static_cast<double>(minimum), static_cast<double>(end), 1);
}

}  // namespace assay::experiment
