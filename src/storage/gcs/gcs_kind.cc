#include "storage/gcs/gcs_kind.h"

#include <memory>
#include <utility>

#include "storage/gcs/gcs_signer.h"
#include "storage/gcs/gcs_store.h"
#include "storage/gcs/gcs_xml_store.h"
#include "storage/store_environment.h"

namespace assay::storage {
namespace {

constexpr std::string_view kGcsSchemes[] = {"gs"};
constexpr OptionFlag kProjectFlags[] = {
    {.names = "--project", .help = "GCS: project that is billed, and that new buckets belong to"}};
constexpr OwnOption kGcsOptions[] = {{.key = kProjectOption,
                                      .variable = "ASSAY_STORAGE_PROJECT",
                                      .meaning = "GCS: project that is billed",
                                      .flags = kProjectFlags}};
// Documentation of google-cloud-storage and gsutil.
constexpr ForeignVariable kGcsVariables[] = {{"STORAGE_EMULATOR_HOST", "endpoint"},
                                             {"GOOGLE_CLOUD_PROJECT", kProjectOption}};

std::string WithScheme(const std::string& host) {
  return host.find("://") == std::string::npos ? "http://" + host : host;
}

Result<std::unique_ptr<ObjectStore>> OpenGcsXml(const std::string& bucket, const std::string& endpoint,
                                                std::unique_ptr<Signer> signer, const StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(S3Address address, S3Address::Make(bucket, endpoint, "auto", /*virtual_host_style=*/false));
  auto dialect = std::make_unique<GcsXmlDialect>(std::move(address), options);
  return std::unique_ptr<ObjectStore>(std::make_unique<GcsXmlStore>(std::move(dialect), std::move(signer), options));
}

Result<std::unique_ptr<ObjectStore>> OpenGcs(const StoreUri& uri, const StoreOptions& options) {
  const Environment environment = EnvironmentOf(options);
  const auto emulator = environment.variable("STORAGE_EMULATOR_HOST");
  const std::string named = options.endpoint.empty() ? emulator.value_or("") : options.endpoint;
  const std::string endpoint = named.empty() ? kGcsEndpoint : WithScheme(named);
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Signer> signer, MakeGcsSigner(options, environment));
  if (!options.anonymous && environment.variable("GCS_HMAC_ACCESS_KEY_ID")) {
    return OpenGcsXml(uri.bucket, endpoint, std::move(signer), options);
  }
  auto dialect = std::make_unique<GcsDialect>(GcsUrls(endpoint, uri.bucket), options);
  return std::unique_ptr<ObjectStore>(std::make_unique<GcsStore>(std::move(dialect), std::move(signer), options));
}

}  // namespace

constinit const StoreKind kGcsKind = {.name = "gs",
                                      .schemes = kGcsSchemes,
                                      .pattern = "gs://bucket/key",
                                      .parse = ParseBucketUri,
                                      .open = OpenGcs,
                                      .options = kGcsOptions,
                                      .variables = kGcsVariables};

}  // namespace assay::storage
