//! From text to the syntax tree of `sqlparser`, within bounds.

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::error::{ConditionError, Fault, MAX_BYTES, MAX_DEPTH, MAX_OPERATORS, shown_text};

/// SQL without what single databases have added to it.
#[derive(Debug)]
struct Plain;

impl Dialect for Plain {
    fn is_identifier_start(&self, char: char) -> bool {
        char.is_alphabetic() || char == '_'
    }

    fn is_identifier_part(&self, char: char) -> bool {
        char.is_alphanumeric() || char == '_'
    }

    fn is_delimited_identifier_start(&self, char: char) -> bool {
        char == '"'
    }

    /// LIKE, BETWEEN and IN bind closer than comparisons, as in DuckDB and PostgreSQL.
    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Between | Precedence::Like => 22,
            Precedence::Eq => 20,
            Precedence::MulDivModOp => 40,
            Precedence::PlusMinus => 30,
            Precedence::Period => 100,
            Precedence::DoubleColon => 50,
            Precedence::AtTz => 41,
            Precedence::Xor => 26,
            Precedence::Ampersand => 25,
            Precedence::Caret => 24,
            Precedence::Pipe | Precedence::Colon | Precedence::PgOther => 23,
            Precedence::Is => 17,
            Precedence::UnaryNot => 15,
            Precedence::And => 10,
            Precedence::Or => 5,
        }
    }
}

/// The expression that a text is from its first to its last character.
pub(crate) fn parse(text: &str) -> Result<Expr, ConditionError> {
    if text.len() > MAX_BYTES {
        return Err(ConditionError::TooLong { bytes: text.len() });
    }
    let tokens = Tokenizer::new(&Plain, text)
        .tokenize_with_location()
        .map_err(|error| at(text, error.location, syntax(&error.message)))?;
    bound(text, &tokens)?;
    let mut parser =
        Parser::new(&Plain).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(tokens);
    let expression = parser.parse_expr().map_err(|error| refused(text, &parser, error))?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        let found = shown_text(&next.token.to_string());
        return Err(at(text, next.span.start, Fault::Trailing { found }));
    }
    Ok(expression)
}

/// Holds the number of operators within bounds: each may make the tree deeper by one, also where
/// the parser does not recurse.
fn bound(text: &str, tokens: &[TokenWithSpan]) -> Result<(), ConditionError> {
    let mut count = 0;
    let mut before = &Token::Comma;
    for token in tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))) {
        let is_operand = match &token.token {
            Token::Word(word) => word.keyword == Keyword::NoKeyword,
            Token::Minus => matches!(before, Token::Comma),
            token => {
                matches!(token, Token::Number(..) | Token::SingleQuotedString(_) | Token::Comma)
            }
        };
        if !is_operand {
            count += 1;
            if count > MAX_OPERATORS {
                return Err(at(text, token.span.start, Fault::TooMany));
            }
        }
        before = &token.token;
    }
    Ok(())
}

fn refused(text: &str, parser: &Parser<'_>, error: ParserError) -> ConditionError {
    let next = parser.peek_token().span.start;
    match error {
        ParserError::RecursionLimitExceeded => at(text, next, Fault::TooDeep),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            // The parser says where only in words.
            let (message, place) = match message.rsplit_once(" at Line: ") {
                Some((message, place)) => (message, location(place)),
                None => (message.as_str(), None),
            };
            at(text, place.unwrap_or(next), syntax(message))
        }
    }
}

fn location(place: &str) -> Option<Location> {
    let (line, column) = place.split_once(", Column: ")?;
    Some(Location::new(line.parse().ok()?, column.parse().ok()?))
}

fn syntax(message: &str) -> Fault {
    let mut chars = message.trim().chars();
    let first = chars.next().map(|char| char.to_ascii_lowercase());
    let message = first.into_iter().chain(chars).collect::<String>();
    Fault::Syntax { message: shown_text(&message.replace("found: EOF", "found: the end")) }
}

/// An error at a place of the text; behind its end where the place is not known.
pub(crate) fn at(text: &str, place: Location, fault: Fault) -> ConditionError {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let length = text.chars().count();
    let position = match number(place.line) {
        0 => length.saturating_add(1),
        line => {
            let above = text.split('\n').take(line - 1).map(|line| line.chars().count() + 1);
            above.sum::<usize>().saturating_add(number(place.column))
        }
    };
    ConditionError::Text { position: position.min(length.saturating_add(1)), fault }
}
