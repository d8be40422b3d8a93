use gateway_domain::RawJson;

/// An input that is not the body (E-2).
#[derive(Debug, Clone, PartialEq)]
pub struct Param {
    /// As the API calls it.
    pub name: String,
    /// Where it is sent.
    pub location: Location,
    /// Whether the API needs it. One in the path always is.
    pub required: bool,
    /// What it means.
    pub description: Option<String>,
    /// Its JSON Schema (2020-12); `None` if nothing is known of it.
    pub schema: Option<RawJson>,
    /// How its value is written.
    pub format: ParamFormat,
}

impl Param {
    /// A parameter in the style that is the default where it is, for callers that make parameters by hand.
    pub fn new(name: impl Into<String>, location: Location) -> Self {
        Self {
            name: name.into(),
            location,
            required: location == Location::Path,
            description: None,
            schema: None,
            format: ParamFormat::of(location),
        }
    }
}

/// Where a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Location {
    /// In place of `{name}` in the path.
    Path,
    /// In the query.
    Query,
    /// As the whole query (OpenAPI 3.2 `querystring`).
    QueryString,
    /// As a header.
    Header,
    /// In the `Cookie` header (E-W7).
    Cookie,
}

impl Location {
    /// The word that OpenAPI has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::QueryString => "querystring",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// How a parameter's value becomes text (OpenAPI 3.1 §4.8.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParamFormat {
    /// By style.
    Styled {
        /// Which.
        style: Style,
        /// Whether the items of arrays and the members of objects stand apart.
        explode: bool,
        /// Whether RFC 3986's reserved characters are left as they are; in the query only.
        allow_reserved: bool,
    },
    /// As a document of this media type: JSON as it stands, `application/x-www-form-urlencoded` as a form.
    Content {
        /// The media type.
        media_type: String,
    },
}

impl ParamFormat {
    /// The default of a location (OpenAPI 3.1 §4.8.12.2).
    pub fn of(location: Location) -> Self {
        let style = match location {
            Location::Path | Location::Header => Style::Simple,
            Location::Query | Location::Cookie => Style::Form,
            Location::QueryString => {
                return Self::Content { media_type: "application/x-www-form-urlencoded".into() };
            }
        };
        Self::Styled { style, explode: style == Style::Form, allow_reserved: false }
    }
}

/// How arrays and objects are written (OpenAPI 3.1 §4.8.12.3, 3.2 for `cookie`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// `a,b`: path and header.
    Simple,
    /// `.a.b`: path.
    Label,
    /// `;name=a,b`: path.
    Matrix,
    /// `name=a,b`: query and cookie.
    Form,
    /// `name=a%20b`: query.
    SpaceDelimited,
    /// `name=a|b`: query.
    PipeDelimited,
    /// `name[key]=a`: query.
    DeepObject,
    /// `name=a; name=b`, without percent-encoding: cookie.
    Cookie,
}

impl Style {
    /// The style of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "simple" => Self::Simple,
            "label" => Self::Label,
            "matrix" => Self::Matrix,
            "form" => Self::Form,
            "spaceDelimited" => Self::SpaceDelimited,
            "pipeDelimited" => Self::PipeDelimited,
            "deepObject" => Self::DeepObject,
            "cookie" => Self::Cookie,
            _ => return None,
        })
    }

    /// Whether parameters at this place may have the style.
    pub fn fits(self, location: Location) -> bool {
        match self {
            Self::Simple => matches!(location, Location::Path | Location::Header),
            Self::Label | Self::Matrix => location == Location::Path,
            Self::Form => matches!(location, Location::Query | Location::Cookie),
            Self::SpaceDelimited | Self::PipeDelimited | Self::DeepObject => location == Location::Query,
            Self::Cookie => location == Location::Cookie,
        }
    }
}
