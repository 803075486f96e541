#include "storage/s3/aws_config.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace assay::storage {
namespace {

// The name of section "[kind name]", which may stand in quotes; nothing for a section of another kind.
std::optional<std::string> SectionName(std::string_view section, std::string_view kind) {
  if (!section.starts_with(kind) || section.size() <= kind.size() || section[kind.size()] != ' ') {
    return std::nullopt;
  }
  std::string_view name = Trim(section.substr(kind.size()));
  if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') && name.front() == name.back()) {
    name = name.substr(1, name.size() - 2);
  }
  return std::string(name);
}

void SortSections(const IniFile& file, AwsConfig& config) {
  for (const auto& [section, values] : file) {
    if (section == "default") {
      config.config[section] = values;
    } else if (const auto profile = SectionName(section, "profile")) {
      config.config[*profile] = values;
    } else if (const auto session = SectionName(section, "sso-session")) {
      config.sso_sessions[*session] = values;
    } else if (const auto services = SectionName(section, "services")) {
      config.services[*services] = values;
    }
  }
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace

const IniSection* AwsConfig::FindProfile(const std::string& name) const {
  const auto found = profiles.find(name);
  return found != profiles.end() ? &found->second : nullptr;
}

std::optional<std::string> AwsConfig::Find(const std::string& profile, const std::string& key) const {
  const IniSection* section = FindProfile(profile);
  if (section == nullptr || !section->contains(key)) {
    return std::nullopt;
  }
  return section->at(key);
}

Result<AwsConfig> LoadAwsConfig(const Environment& environment) {
  AwsConfig config;
  config.config_path = environment.ExpandUser(environment.variable("AWS_CONFIG_FILE").value_or("~/.aws/config"));
  config.credentials_path =
      environment.ExpandUser(environment.variable("AWS_SHARED_CREDENTIALS_FILE").value_or("~/.aws/credentials"));
  ASSAY_ASSIGN_OR_RETURN(const IniFile file, ReadIniFile(config.config_path));
  SortSections(file, config);
  ASSAY_ASSIGN_OR_RETURN(config.credentials, ReadIniFile(config.credentials_path));
  config.profiles = config.config;
  for (const auto& [name, values] : config.credentials) {
    for (const auto& [key, value] : values) {
      config.profiles[name][key] = value;
    }
  }
  return config;
}

std::string AwsProfileName(const StoreOptions& options, const Environment& environment) {
  if (!options.profile.empty()) {
    return options.profile;
  }
  const std::optional<std::string> named = environment.variable("AWS_PROFILE");
  return named ? *named : environment.variable("AWS_DEFAULT_PROFILE").value_or("default");
}

std::string AwsRegion(const AwsConfig& config, const std::string& profile, const Environment& environment) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (const std::optional<std::string> region = environment.variable(name)) {
      return *region;
    }
  }
  return config.Find(profile, "region").value_or("");
}

std::string AwsEndpoint(std::string_view service, const AwsConfig& config, const std::string& profile,
                        const Environment& environment) {
  if (environment.variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true") {
    return {};
  }
  for (const std::string& name : {"AWS_ENDPOINT_URL_" + Upper(service), std::string("AWS_ENDPOINT_URL")}) {
    if (const std::optional<std::string> url = environment.variable(name)) {
      return *url;
    }
  }
  if (const std::optional<std::string> services = config.Find(profile, "services")) {
    const auto section = config.services.find(*services);
    const std::string key = std::string(service) + ".endpoint_url";
    if (section != config.services.end() && section->second.contains(key)) {
      return section->second.at(key);
    }
  }
  return config.Find(profile, "endpoint_url").value_or("");
}

}  // namespace assay::storage
