// How experiments write their properties down, and read a point's values.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

inline const space::Value kNone;
inline constexpr int64_t kMaxRanks = 1025;  ///< the end of domains of ranks

/// Values of a complete point. The name must be one of the experiment's properties, the type that of its domain.
int64_t IntegerOf(const space::Entity& point, const std::string& name);
double NumberOf(const space::Entity& point, const std::string& name);
bool BoolOf(const space::Entity& point, const std::string& name);
/// Empty for None.
std::string TextOf(const space::Entity& point, const std::string& name);

/// "4GiB" as bytes; None leaves `bytes` as it is.
Status TakeBytes(const space::Value& value, int64_t& bytes);

/// How specs are written; an optional property has a default, a required one has none.
PropertySpec Required(std::string name, space::Domain domain, std::string description, std::string unit = "");
PropertySpec Optional(std::string name, space::Domain domain, space::Value default_value, std::string description,
                      std::string unit = "");
/// Known to the reference, and here only at its default.
PropertySpec DefaultOnly(std::string name, space::Domain domain, space::Value default_value, std::string description);
/// The spec of a property that people are shown so.
PropertySpec As(Shown shown, PropertySpec spec);
/// Not in the reference.
PropertySpec Own(PropertySpec spec);

/// The spec, with all but these values of its domain refused as not supported yet.
PropertySpec Supporting(PropertySpec spec, std::vector<space::Value> supported);
/// The spec of a property whose text is a name that `is_name` knows, or a path.
PropertySpec NameOrPath(PropertySpec spec, bool (*is_name)(std::string_view));

space::Domain Choice(std::vector<space::Value> values);
space::Domain Texts(std::initializer_list<const char*> names);
space::Domain TextsOrNone(std::initializer_list<const char*> names);
space::Domain Integers(int64_t minimum, int64_t end);

}  // namespace assay::experiment
