//! Opens S3, Azure and Google Cloud buckets as object stores. Without the `cloud` feature, their
//! URLs are rejected.

use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;
use pubdata_core::error::{Error, Result};

/// URL schemes of buckets.
pub(super) const SCHEMES: [&str; 3] = ["s3", "az", "gs"];

/// Opens a bucket, limited to a key prefix.
///
/// # Errors
/// `Config`, when the environment lacks settings for the bucket, or when the program was built
/// without the `cloud` feature.
#[cfg(feature = "cloud")]
pub(super) fn open_bucket(
    scheme: &str,
    bucket: &str,
    prefix: Path,
) -> Result<Arc<dyn ObjectStore>> {
    use object_store::ClientConfigKey;
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
    use object_store::azure::MicrosoftAzureBuilder;
    use object_store::gcp::GoogleCloudStorageBuilder;
    use object_store::prefix::PrefixStore;

    let hint = match scheme {
        "s3" => {
            "set AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT for a store that is not Amazon's"
        }
        "az" => {
            "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or another of Azure's credentials"
        }
        _ => "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account",
    };
    let refused = |error: object_store::Error| Error::config(error.to_string()).hint(hint);
    Ok(match scheme {
        "s3" => {
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
            let is_plain = builder
                .get_config_value(&AmazonS3ConfigKey::Endpoint)
                .is_some_and(|endpoint| endpoint.starts_with("http://"));
            let is_allowed = builder
                .get_config_value(&AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp))
                .is_some_and(|value| value == "true");
            if is_plain && !is_allowed {
                return Err(Error::config(
                    "AWS_ENDPOINT begins with http://: others could read the data in transit",
                )
                .hint("use https://, or set AWS_ALLOW_HTTP=true if that network is your own"));
            }
            Arc::new(PrefixStore::new(builder.build().map_err(refused)?, prefix))
        }
        "az" => Arc::new(PrefixStore::new(
            MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .build()
                .map_err(refused)?,
            prefix,
        )),
        _ => Arc::new(PrefixStore::new(
            GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .build()
                .map_err(refused)?,
            prefix,
        )),
    })
}

#[cfg(not(feature = "cloud"))]
pub(super) fn open_bucket(
    _scheme: &str,
    _bucket: &str,
    _prefix: Path,
) -> Result<Arc<dyn ObjectStore>> {
    Err(
        Error::config("this program was built without support for buckets")
            .hint("build it with the feature `cloud`, or use a folder: file:///path"),
    )
}
