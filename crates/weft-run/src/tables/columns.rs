//! A builder of a table, column by column.

use std::slice::Iter;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use weft_spec::Time;

use super::ProvidedTables;
use crate::Error;

/// The columns so far, each with a value of every row, without those that the level does not provide.
pub(super) struct Columns<'a, R> {
    table: &'static str,
    provided: ProvidedTables,
    rows: &'a [R],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, R> Columns<'a, R> {
    pub fn new(table: &'static str, provided: ProvidedTables, rows: &'a [R]) -> Self {
        Self {
            table,
            provided,
            rows,
            fields: Vec::new(),
            arrays: Vec::new(),
        }
    }

    fn add(mut self, name: &str, nullable: bool, array: impl FnOnce(Iter<'a, R>) -> ArrayRef) -> Self {
        if !self.provided.has_column(self.table, name) {
            return self;
        }
        let array = array(self.rows.iter());
        self.fields
            .push(Field::new(name, array.data_type().clone(), nullable));
        self.arrays.push(array);
        self
    }

    /// Adds a column with a value of each row.
    fn values<A: Array + FromIterator<V> + 'static, V>(
        self,
        name: &str,
        nullable: bool,
        value: impl Fn(&'a R) -> V,
    ) -> Self {
        self.add(name, nullable, |rows| Arc::new(rows.map(value).collect::<A>()))
    }

    pub fn text<'t>(self, name: &str, value: impl Fn(&'a R) -> &'t str) -> Self {
        self.values::<StringArray, _>(name, false, |row| Some(value(row)))
    }

    pub fn text_or_null<'t>(self, name: &str, value: impl Fn(&'a R) -> Option<&'t str>) -> Self {
        self.values::<StringArray, _>(name, true, value)
    }

    pub fn index(self, name: &str, value: impl Fn(&'a R) -> u32) -> Self {
        self.values::<UInt32Array, _>(name, false, value)
    }

    pub fn index_or_null(self, name: &str, value: impl Fn(&'a R) -> Option<u32>) -> Self {
        self.values::<UInt32Array, _>(name, true, value)
    }

    pub fn count(self, name: &str, value: impl Fn(&'a R) -> u64) -> Self {
        self.values::<UInt64Array, _>(name, false, value)
    }

    pub fn count_or_null(self, name: &str, value: impl Fn(&'a R) -> Option<u64>) -> Self {
        self.values::<UInt64Array, _>(name, true, value)
    }

    pub fn number(self, name: &str, value: impl Fn(&'a R) -> f64) -> Self {
        self.values::<Float64Array, _>(name, false, value)
    }

    pub fn number_or_null(self, name: &str, value: impl Fn(&'a R) -> Option<f64>) -> Self {
        self.values::<Float64Array, _>(name, true, value)
    }

    /// Adds a column of times in seconds.
    pub fn time(self, name: &str, value: impl Fn(&'a R) -> Time) -> Self {
        self.number(name, |row| value(row).seconds())
    }

    pub fn time_or_null(self, name: &str, value: impl Fn(&'a R) -> Option<Time>) -> Self {
        self.number_or_null(name, |row| value(row).map(Time::seconds))
    }

    pub fn flag(self, name: &str, value: impl Fn(&'a R) -> bool) -> Self {
        self.values::<BooleanArray, _>(name, false, |row| Some(value(row)))
    }

    pub fn flag_or_null(self, name: &str, value: impl Fn(&'a R) -> Option<bool>) -> Self {
        self.values::<BooleanArray, _>(name, true, value)
    }

    pub fn numbers(self, name: &str, value: impl Fn(&'a R) -> Vec<f64>) -> Self {
        self.add(name, false, |rows| {
            let item = Field::new("item", DataType::Float64, false);
            let mut lists = ListBuilder::new(Float64Builder::new()).with_field(item);
            for list in rows.map(value) {
                lists.values().append_slice(&list);
                lists.append(true);
            }
            Arc::new(lists.finish())
        })
    }

    pub fn texts<'t>(self, name: &str, value: impl Fn(&'a R) -> Vec<&'t str>) -> Self {
        self.add(name, false, |rows| {
            let item = Field::new("item", DataType::Utf8, false);
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(item);
            for list in rows.map(value) {
                for text in list {
                    lists.values().append_value(text);
                }
                lists.append(true);
            }
            Arc::new(lists.finish())
        })
    }

    pub fn finish(self) -> Result<RecordBatch, Error> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)
            .map_err(|error| Error::Internal(format!("a table cannot be built: {error}")))
    }
}
