// Reading XML that somebody else wrote.
#pragma once

#include <pugixml.hpp>
#include <string_view>

namespace assay::storage {

/// Elements within elements; no answer of a store needs a tenth of it.
inline constexpr int kMaxXmlDepth = 100;

/// The root of `body` when it has that name; it lives as long as `document`. None for what is no XML or is nested
/// deeper than kMaxXmlDepth, which is found before anything is built.
pugi::xml_node LoadXml(pugi::xml_document& document, std::string_view body, const char* name);

}  // namespace assay::storage
